#include "model/checkpoint.hpp"

#include "model/shard_index.hpp"
#include "tests/model/model_checks.hpp"
#include "tests/support/safetensors_writer.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

Bytes file_with(const std::string& name, uint8_t value) {
  return SafetensorsWriter().add(name, "F32", "[1, 2]", Bytes(8, std::byte{value})).build();
}

std::string index_of(const std::string& map) {
  return R"({"metadata": {"total_size": 16}, "weight_map": {)" + map + "}}";
}

void refused(const TemporaryFolder& folder, Code code, const std::string& what) {
  const auto opened = open_checkpoint(folder.path());
  REQUIRE_FALSE(opened.ok());
  check_error(opened.error(), code, what, "");
}

}  // namespace

TEST_CASE("a checkpoint of one file") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write("generation_config.json", R"({"eos_token_id": 2})");
  folder.write("model.safetensors", file_with("a", 1));
  const auto opened = open_checkpoint(folder.path());
  REQUIRE(opened.ok());
  CHECK(opened->config.find("model_type")->text() == "llama");
  CHECK(opened->generation_config.find("eos_token_id")->integer() == 2);
  CHECK(opened->files == std::vector<std::string>{"model.safetensors"});
  REQUIRE(opened->tensors.find("a") != nullptr);
  // The table keeps the file mapped.
  TensorTable table = opened->tensors;
  CHECK(table.find("a")->data[7] == std::byte{1});
}

TEST_CASE("a checkpoint of shards, as its index says") {
  const TemporaryFolder folder;
  folder.write("config.json", std::string("{}"));
  folder.write("model-00001-of-00002.safetensors", file_with("a", 1));
  folder.write("model-00002-of-00002.safetensors", file_with("b", 2));
  folder.write("model.safetensors.index.json", index_of(R"("a": "model-00001-of-00002.safetensors",
                           "b": "model-00002-of-00002.safetensors")"));
  const auto opened = open_checkpoint(folder.path());
  REQUIRE(opened.ok());
  CHECK(opened->tensors.all().size() == 2);
  CHECK(opened->tensors.find("b")->data[0] == std::byte{2});
  CHECK(opened->generation_config.is_null());
  CHECK(opened->files.size() == 2);

  folder.write("model.safetensors.index.json",
               index_of(R"("a": "model-00002-of-00002.safetensors")"));
  refused(folder, Code::corrupt, "\"a\" is not in model-00002-of-00002.safetensors");
  folder.write("model.safetensors.index.json", index_of(R"("a": "model-00003.safetensors")"));
  refused(folder, Code::not_found, "model-00003.safetensors");
  folder.write("other.safetensors", file_with("a", 1));
  folder.write("model.safetensors.index.json",
               index_of(R"("a": "model-00001-of-00002.safetensors", "x": "other.safetensors")"));
  refused(folder, Code::corrupt, "\"a\" occurs twice");
}

TEST_CASE("an index never leads out of its folder") {
  const TemporaryFolder outside;
  outside.write("model.safetensors", file_with("a", 1));
  const TemporaryFolder folder;
  folder.write("config.json", std::string("{}"));
  const std::string escape = std::filesystem::path(outside.path()).filename().string();
  for (const std::string& name :
       {outside.path("model.safetensors"), "../" + escape + "/model.safetensors",
        std::string("./model.safetensors"), std::string(".."), std::string(".model.safetensors"),
        std::string("a\\\\b.safetensors"), std::string("a\\u0000.safetensors"), std::string(""),
        std::string("sub/model.safetensors"), std::string("config.json")}) {
    CAPTURE(name);
    folder.write("model.safetensors.index.json", index_of("\"a\": \"" + name + "\""));
    refused(folder, Code::corrupt, "the index puts the tensor \"a\" into");
  }
  CHECK(is_plain_file_name("model-00001-of-00002.safetensors"));
  CHECK_FALSE(is_plain_file_name(std::string(256, 'a')));
}

TEST_CASE("folders that are no checkpoint") {
  const TemporaryFolder folder;
  refused(folder, Code::not_found, "config.json");
  folder.write("config.json", std::string("[]"));
  refused(folder, Code::corrupt, "an array");
  folder.write("config.json", std::string("{}"));
  refused(folder, Code::not_found, "has no weights");
  folder.write("model.safetensors", std::string("abc"));
  refused(folder, Code::corrupt, "model.safetensors: the file has 3 bytes");
  for (const char* text :
       {"{}", R"({"weight_map": {}})", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})"}) {
    folder.write("model.safetensors.index.json", std::string(text));
    refused(folder, Code::corrupt, "the index");
  }
}
