// docs/manifest.md names every field, with the default that the reader gives it.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/concat.hpp"
#include "launch/manifest_rules.hpp"
#include "tests/support/folders.hpp"

namespace troupe::launch {
namespace {

std::string document() {
  const std::ifstream file(testing::source_folder() + "/docs/manifest.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The part of the page between a heading and the next one.
std::string section(const std::string& page, const std::string& heading) {
  const size_t start = page.find(concat("## ", heading, "\n"));
  if (start == std::string::npos) return {};
  return page.substr(start, page.find("\n## ", start) - start);
}

void check_fields(const google::protobuf::Descriptor& type, const std::string& text) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const size_t start = text.find(concat("\n| `", yaml_name(field), "` |"));
    REQUIRE_MESSAGE(start != std::string::npos, field.full_name());
    const std::string row = text.substr(start + 1, text.find('\n', start + 1) - start - 1);
    const auto& rule = rule_of(field);
    const std::string wanted = rule.required()           ? std::string("| required |")
                               : rule.fallback().empty() ? std::string("| – |")
                                                         : concat("| `", rule.fallback(), "` |");
    CHECK_MESSAGE(row.find(wanted) != std::string::npos, row);
    CHECK_MESSAGE((row.find("(no effect yet)") != std::string::npos) == rule.is_planned(), row);
    if (field.enum_type() == nullptr) continue;
    for (const std::string& word : yaml_names(*field.enum_type())) {
      CHECK_MESSAGE(row.find(concat("`", word, "`")) != std::string::npos, row);
    }
  }
}

TEST_CASE("the page about the manifest is complete") {
  const std::string page = document();
  const auto& root = *v1::Manifest::descriptor();
  check_fields(root, section(page, "Top level"));
  for (int i = 0; i < root.field_count(); ++i) {
    const FieldDescriptor& field = *root.field(i);
    if (field.message_type() == nullptr) continue;
    check_fields(*field.message_type(), section(page, concat("`", yaml_name(field), "`")));
  }
}

}  // namespace
}  // namespace troupe::launch
