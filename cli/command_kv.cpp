// kv: looks at and changes the folder of a store's disk while no store uses it.
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/concat.hpp"
#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/options.hpp"
#include "kv/disk_tools.hpp"

namespace troupe::cli {
namespace {

using Json = nlohmann::ordered_json;
using kv::DiskFolder;

struct KvFlags {
  std::string folder;
  std::string other;
  uint64_t keep_bytes = 0;
  bool blocks = false;
  bool json = false;
};

constexpr const char* warning =
    "KV blocks reveal the prompts that they were computed from: whoever reads them can rebuild the "
    "text. Keep the folder as private as the prompts.";

void print(const Json& body) {
  std::cout << body.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

Json block_json(const kv::FoundSegment& segment, const kv::TableRow& row) {
  return {{"name", kv::hex(row.head.name)},
          {"parent", kv::hex(row.head.parent)},
          {"segment", segment.number},
          {"place", row.place},
          {"priority", row.head.priority}};
}

Json segment_json(const kv::FoundSegment& segment) {
  Json row = {{"segment", segment.number}, {"bytes", segment.file_bytes}};
  if (segment.unfit) {
    row["problem"] = segment.unfit->message();
    return row;
  }
  row["blocks"] = segment.rows.size();
  row["block_bytes"] = segment.head.block_bytes;
  row["sealed"] = segment.is_sealed;
  row["fingerprint"] = hex(segment.head.fingerprint);
  return row;
}

Result<std::vector<kv::FoundSegment>> look(const std::string& path) {
  TROUPE_ASSIGN(const auto folder, DiskFolder::open(path, DiskFolder::Use::look));
  return folder->find_all();
}

int do_ls(const KvFlags& flags) {
  const auto segments = look(flags.folder);
  if (!segments) return report(segments.error(), flags.json);
  Json rows = Json::array();
  Json blocks = Json::array();
  for (const kv::FoundSegment& segment : *segments) {
    rows.push_back(segment_json(segment));
    for (const kv::TableRow& row : segment.rows) {
      if (flags.blocks) blocks.push_back(block_json(segment, row));
    }
  }
  if (flags.json) {
    Json body = {{"folder", flags.folder}, {"segments", rows}};
    if (flags.blocks) body["blocks"] = blocks;
    print(body);
    return 0;
  }
  std::cout << "segment   blocks      MiB  fingerprint\n";
  for (const Json& row : rows) {
    const bool is_fit = !row.contains("problem");
    std::cout << std::setw(7) << row["segment"].get<uint32_t>() << std::setw(9)
              << (is_fit ? row["blocks"].get<size_t>() : 0) << std::setw(9)
              << (row["bytes"].get<uint64_t>() >> 20) << "  "
              << row[is_fit ? "fingerprint" : "problem"].get<std::string>() << "\n";
  }
  for (const Json& block : blocks) {
    std::cout << block["name"].get<std::string>() << " after " << block["parent"].get<std::string>()
              << "\n";
  }
  std::cout << std::flush;
  return 0;
}

int do_stat(const KvFlags& flags) {
  const auto segments = look(flags.folder);
  if (!segments) return report(segments.error(), flags.json);
  uint64_t bytes = 0, blocks = 0, unfit = 0;
  std::set<std::string> fingerprints;
  for (const kv::FoundSegment& segment : *segments) {
    bytes += segment.file_bytes;
    blocks += segment.rows.size();
    unfit += segment.unfit ? 1 : 0;
    if (!segment.unfit) fingerprints.insert(hex(segment.head.fingerprint));
  }
  if (flags.json) {
    print({{"folder", flags.folder},
           {"segments", segments->size()},
           {"unfit_segments", unfit},
           {"blocks", blocks},
           {"bytes", bytes},
           {"fingerprints", fingerprints}});
    return 0;
  }
  std::cout << blocks << " blocks in " << segments->size() << " segments, " << (bytes >> 20)
            << " MiB, of " << fingerprints.size() << " fingerprints; " << unfit
            << " segments cannot be used" << std::endl;
  return 0;
}

int do_verify(const KvFlags& flags) {
  const auto folder = DiskFolder::open(flags.folder, DiskFolder::Use::look);
  if (!folder) return report(folder.error(), flags.json);
  const auto verified = kv::verify_blocks(**folder);
  if (!verified) return report(verified.error(), flags.json);
  if (flags.json) {
    print({{"folder", flags.folder},
           {"whole", verified->whole},
           {"damaged", verified->damaged},
           {"problems", verified->problems}});
  } else {
    for (const std::string& problem : verified->problems) std::cout << problem << "\n";
    std::cout << verified->whole << " blocks are whole, " << verified->damaged << " are damaged"
              << std::endl;
  }
  return verified->damaged == 0 ? 0 : 1;
}

int do_evict(const KvFlags& flags) {
  const auto folder = DiskFolder::open(flags.folder, DiskFolder::Use::own);
  if (!folder) return report(folder.error(), flags.json);
  const auto evicted = kv::evict_segments(**folder, flags.keep_bytes);
  if (!evicted) return report(evicted.error(), flags.json);
  if (flags.json) {
    print({{"folder", flags.folder},
           {"segments", evicted->segments},
           {"blocks", evicted->blocks},
           {"bytes", evicted->bytes},
           {"bytes_left", evicted->bytes_left}});
  } else {
    std::cout << "removed " << evicted->blocks << " blocks in " << evicted->segments
              << " segments, " << (evicted->bytes_left >> 20) << " MiB are left" << std::endl;
  }
  return 0;
}

/// From one folder to another; `is_new`: there is none yet.
int do_copy(const KvFlags& flags, const std::string& from, const std::string& to, bool is_new) {
  auto source = DiskFolder::open(from, DiskFolder::Use::look);
  if (!source) return report(source.error(), flags.json);
  if (!is_new) {
    // What is to be added to must be there: a wrong name would make a folder that no store reads.
    if (auto there = DiskFolder::open(to, DiskFolder::Use::look); !there) {
      return report(there.error(), flags.json);
    }
  }
  auto target = DiskFolder::open(to, DiskFolder::Use::own);
  if (!target) return report(target.error(), flags.json);
  const auto numbers = (*target)->numbers();
  if (is_new && numbers && !numbers->empty()) {
    return report(error(Code::failed_precondition, concat(to, " has segments already"),
                        "export to a folder of its own; import adds to one"),
                  flags.json);
  }
  const auto copied = kv::copy_blocks(**source, **target);
  if (!copied) return report(copied.error(), flags.json);
  if (is_new) std::cerr << "warning: " << warning << std::endl;
  if (flags.json) {
    print({{"from", from},
           {"to", to},
           {"copied", copied->copied},
           {"known", copied->known},
           {"damaged", copied->damaged}});
  } else {
    std::cout << "copied " << copied->copied << " blocks; " << copied->known
              << " were there already, " << copied->damaged << " are damaged" << std::endl;
  }
  return copied->damaged == 0 ? 0 : 1;
}

CLI::App* add_part(CLI::App& command, const std::shared_ptr<KvFlags>& flags, const char* name,
                   const char* meaning) {
  CLI::App* part = command.add_subcommand(name, meaning);
  part->add_option("folder", flags->folder, "store_path of the store, which must not run")
      ->required();
  part->add_flag("--json", flags->json, "one JSON object on stdout (default off)");
  return part;
}

}  // namespace

void add_kv(CLI::App& app, Chosen& run) {
  CLI::App* command =
      app.add_subcommand("kv", "Look at the KV blocks on a store's disk, check, remove, copy them");
  command->require_subcommand(1);
  auto flags = std::make_shared<KvFlags>();
  CLI::App* ls = add_part(*command, flags, "ls", "List the segment files, oldest first");
  ls->add_flag("--blocks", flags->blocks, "and every block with its parent (default off)");
  ls->callback([&run, flags] { run = [flags] { return do_ls(*flags); }; });
  CLI::App* stat = add_part(*command, flags, "stat", "Count blocks, bytes and fingerprints");
  stat->callback([&run, flags] { run = [flags] { return do_stat(*flags); }; });
  CLI::App* verify =
      add_part(*command, flags, "verify", "Read every block; exit status 1 if one is damaged");
  verify->callback([&run, flags] { run = [flags] { return do_verify(*flags); }; });
  CLI::App* evict = add_part(*command, flags, "evict", "Remove segments, oldest first");
  add_bytes(*evict, "--keep", flags->keep_bytes, 0,
            "until the rest takes at most this (default 0B: everything goes)");
  evict->callback([&run, flags] { run = [flags] { return do_evict(*flags); }; });
  CLI::App* to = add_part(*command, flags, "export",
                          "Copy all whole blocks to a new folder, which reveals the prompts");
  to->add_option("to", flags->other, "the folder to make")->required();
  to->callback([&run, flags] {
    run = [flags] { return do_copy(*flags, flags->folder, flags->other, true); };
  });
  CLI::App* from = add_part(*command, flags, "import", "Add the blocks of an exported folder");
  from->add_option("from", flags->other, "the folder that was exported")->required();
  from->callback([&run, flags] {
    run = [flags] { return do_copy(*flags, flags->other, flags->folder, false); };
  });
}

}  // namespace troupe::cli
