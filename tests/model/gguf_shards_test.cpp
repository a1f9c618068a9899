#include "model/gguf_shards.hpp"

#include "tests/model/model_checks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::model;
using namespace troupe::testing;

namespace {

std::string name_of(int number, int count) {
  return "m-0000" + std::to_string(number) + "-of-0000" + std::to_string(count) + ".gguf";
}

/// The tensors of a tiny model, dealt out to `count` files; metadata in the first.
std::vector<GgufWriter> shards(int count) {
  const GgufWriter whole = tiny_llama(smallest());
  std::vector<GgufWriter> made(static_cast<size_t>(count));
  made[0].pairs = whole.pairs;
  for (size_t i = 0; i < whole.tensors.size(); ++i) {
    made[i % made.size()].tensors.push_back(whole.tensors[i]);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    made[i].add_u32("split.count", static_cast<uint32_t>(count));
    made[i].add_u32("split.no", static_cast<uint32_t>(i));
    made[i].add_u32("split.tensors.count", static_cast<uint32_t>(whole.tensors.size()));
  }
  return made;
}

void write(const TemporaryFolder& folder, const std::vector<GgufWriter>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    folder.write(name_of(static_cast<int>(i) + 1, static_cast<int>(files.size())),
                 files[i].build());
  }
}

void refused(const TemporaryFolder& folder, const std::string& name, Code code,
             const std::string& what) {
  const auto opened = open_gguf(folder.path(name));
  REQUIRE_FALSE(opened.ok());
  check_error(opened.error(), code, what, "");
}

}  // namespace

TEST_CASE("a model in three files is the model in one, whichever file is given") {
  const TemporaryFolder folder;
  folder.write("whole.gguf", tiny_llama(smallest()).build());
  write(folder, shards(3));
  const auto whole = open_gguf(folder.path("whole.gguf"));
  REQUIRE(whole.ok());
  CHECK(whole->files.size() == 1);
  for (int given = 1; given <= 3; ++given) {
    const auto opened = open_gguf(folder.path(name_of(given, 3)));
    if (!opened.ok()) FAIL(opened.error().message());
    CHECK(opened->files.size() == 3);
    CHECK(opened->first.value("llama.block_count") != nullptr);
    REQUIRE(opened->tensors.all().size() == whole->tensors.all().size());
    for (const auto& [name, tensor] : whole->tensors.all()) {
      const StoredTensor* found = opened->tensors.find(name);
      REQUIRE(found != nullptr);
      CHECK(found->shape == tensor.shape);
      CHECK(std::ranges::equal(found->data, tensor.data));
    }
  }
}

TEST_CASE("sets of files that are none") {
  const TemporaryFolder folder;
  std::vector<GgufWriter> files = shards(2);
  write(folder, files);
  std::filesystem::rename(folder.path(name_of(2, 2)), folder.path("other.gguf"));
  refused(folder, name_of(1, 2), Code::not_found, name_of(2, 2));
  refused(folder, "other.gguf", Code::invalid_argument, "its name does not say so");

  files[1].set_u32("split.no", 0);
  write(folder, files);
  refused(folder, name_of(1, 2), Code::corrupt, "says that it is number 0 of 2");
  files[1].set_u32("split.no", 2);
  write(folder, files);
  refused(folder, name_of(1, 2), Code::corrupt, "split.no is 2 of 2");
  files = shards(2);
  files[1].tensors.push_back(files[0].tensors[0]);
  write(folder, files);
  refused(folder, name_of(1, 2), Code::corrupt, "occurs twice");
  files = shards(2);
  files[1].tensors.pop_back();
  write(folder, files);
  refused(folder, name_of(1, 2), Code::corrupt, "split.tensors.count is");
  files = shards(2);
  files[0].set_u32("split.count", 4'000'000'000u);
  write(folder, files);
  refused(folder, name_of(1, 2), Code::exhausted, "split.count is 4000000000");
}

TEST_CASE("only the numbers of a file's name change") {
  CHECK(shard_path("a/b-00002-of-00012.gguf", 7, 12) == "a/b-00007-of-00012.gguf");
  CHECK(shard_path("-00001-of-00002.gguf", 1, 2).empty());
  CHECK(shard_path("b-0000x-of-00002.gguf", 1, 2).empty());
  CHECK(shard_path("b-00001-of-00003.gguf", 1, 2).empty());
  CHECK(shard_path("b.gguf", 1, 2).empty());
}
