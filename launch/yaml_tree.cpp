#include "launch/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <sstream>

#include "base/concat.hpp"
#include "launch/limits.hpp"

namespace troupe::launch {
namespace {

Position position(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

// Receives yaml-cpp's events. After the first problem everything else is dropped: the input is
// bounded, so there is no need to stop the parser.
class TreeBuilder : public YAML::EventHandler {
 public:
  struct Problem {
    Position at;
    std::string what;
  };

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(YamlNode(YamlNode::Kind::null, position(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (*name) is not allowed, expected the value itself");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (value.size() > limits::manifest_text) {
      return fail(mark, concat("a value of ", value.size(), " bytes, expected at most ",
                               limits::manifest_text));
    }
    const bool is_quoted = tag == "!";
    const bool is_null = !is_quoted && (value.empty() || value == "~" || value == "null");
    YamlNode node(is_null ? YamlNode::Kind::null : YamlNode::Kind::scalar, position(mark));
    node.text = value;
    node.is_quoted = is_quoted;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

  const std::optional<Problem>& problem() const { return problem_; }
  YamlNode take_root() { return std::move(root_); }

 private:
  struct Frame {
    YamlNode node;
    std::optional<YamlNode> key;  ///< of a map, between key and value
  };

  void fail(const YAML::Mark& mark, std::string what) {
    if (!problem_) problem_ = Problem{position(mark), std::move(what)};
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) fail(mark, "an anchor (&name) is not allowed, expected the value alone");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(mark, "a tag (!name) is not allowed, expected the value alone");
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (frames_.size() >= limits::manifest_depth) {
      fail(mark, concat("nested ", frames_.size() + 1, " levels deep, expected at most ",
                        limits::manifest_depth));
    }
    if (problem_) return;
    frames_.push_back({YamlNode(kind, position(mark)), std::nullopt});
  }
  void close() {
    if (problem_ || frames_.empty()) return;
    YamlNode done = std::move(frames_.back().node);
    frames_.pop_back();
    add(std::move(done));
  }
  void add(YamlNode node);

  std::vector<Frame> frames_;
  YamlNode root_;
  std::optional<Problem> problem_;
  size_t nodes_ = 0;
};

void TreeBuilder::add(YamlNode node) {
  if (problem_) return;
  if (++nodes_ > limits::manifest_nodes) {
    problem_ = Problem{node.at, concat("value ", nodes_, " of the file, expected at most ",
                                       limits::manifest_nodes)};
    return;
  }
  if (frames_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = frames_.back();
  if (frame.node.kind == YamlNode::Kind::list) {
    if (frame.node.list.size() >= limits::manifest_list) {
      problem_ = Problem{node.at, concat("entry ", frame.node.list.size() + 1,
                                         " of a list, expected at most ", limits::manifest_list)};
      return;
    }
    frame.node.list.push_back(std::move(node));
  } else if (!frame.key) {
    if (node.kind != YamlNode::Kind::scalar) {
      problem_ = Problem{
          node.at, concat("found ", describe(node), " as a field's name, expected plain text")};
      return;
    }
    frame.key = std::move(node);
  } else {
    frame.node.map.push_back({std::move(frame.key->text), frame.key->at, std::move(node)});
    frame.key.reset();
  }
}

// yaml-cpp's own words, which name neither what was found nor what would be right.
std::string sentence(const std::string& message) {
  if (message == "end of map not found" || message == "illegal map value") {
    return message + ", expected \"name: value\" lines of equal indentation";
  }
  if (message == "unknown token while scanning" || message == "invalid character") {
    return message + ", expected YAML";
  }
  return concat("not YAML: ", message, ", expected YAML as in deploy/quickstart.yaml");
}

}  // namespace

YamlNode::YamlNode(Kind kind_of, Position position) : kind(kind_of), at(position) {}

std::string prefix(const std::string& file_name, Position at) {
  return concat(file_name, ":", at.line, ":", at.column, ": ");
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "fields of its own";
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.is_quoted) return "a text in quotes";
  if (node.text == "true" || node.text == "false") return node.text;
  const bool is_number = node.text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "a number" : "a text";
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name) {
  const auto refuse = [&](Position at, const std::string& what) {
    return error(Code::invalid_argument, prefix(file_name, at) + what);
  };
  if (text.size() > limits::manifest_bytes) {
    return refuse({}, concat(text.size(), " bytes, expected at most ", limits::manifest_bytes));
  }
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      return refuse({}, "the file is empty, expected a manifest such as deploy/quickstart.yaml");
    }
    if (builder.problem()) return refuse(builder.problem()->at, builder.problem()->what);
    YamlNode root = builder.take_root();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return refuse(root.at, "several documents in one file, expected one");
    }
    return root;
  } catch (const YAML::Exception& e) {
    // What we refused before the parser stumbled says more: it gives up on deep nesting itself.
    if (builder.problem()) return refuse(builder.problem()->at, builder.problem()->what);
    const Position at = e.mark.is_null() ? Position{} : position(e.mark);
    return refuse(at, sentence(e.msg));
  } catch (const std::exception& e) {
    return refuse({}, sentence(e.what()));
  }
}

}  // namespace troupe::launch
