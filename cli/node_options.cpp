#include "cli/node_options.hpp"

#include "base/concat.hpp"

namespace troupe::cli {
namespace {

/// An unspecified one is `otherwise`.
kv::KvType kv_type(v1::Manifest::KvType type, kv::KvType otherwise) {
  switch (type) {
    case v1::Manifest::KV_TYPE_F16:
      return kv::KvType::f16;
    case v1::Manifest::KV_TYPE_BF16:
      return kv::KvType::bf16;
    case v1::Manifest::KV_TYPE_Q8_0:
      return kv::KvType::q8_0;
    case v1::Manifest::KV_TYPE_F32:
      return kv::KvType::f32;
    default:
      return otherwise;
  }
}

}  // namespace

Result<actors::NodeOptions> node_options(const launch::NodeStart& start) {
  actors::NodeOptions options;
  options.cluster = start.cluster;
  options.name = start.process.name;
  options.roles = start.process.roles;
  options.host = start.process.address;
  options.port = start.process.port;
  options.tls = {start.certificates.certificate, start.certificates.key,
                 start.certificates.authority};
  options.salt_secret = start.salt_secret;
  options.manifest_digest = start.manifest_digest;
  options.directory_host = start.directory_host;
  options.directory_port = start.directory_port;
  options.model_path = start.process.model_path;
  options.model_name = start.process.model;
  options.draft_bytes = start.process.draft_bytes;
  options.store_bytes = start.process.store_bytes;
  options.store_disk_bytes = start.process.store_disk_bytes;
  options.store_path = start.process.store_path;
  actors::WorkerOptions& worker = options.worker;
  worker.threads = static_cast<int>(start.process.threads);
  worker.kv_bytes = start.process.kv_bytes;
  worker.data_address = start.process.data_address;
  worker.shared_memory = start.spec.transport().shared_memory();
  worker.tcp = start.spec.transport().tcp();
  const v1::Manifest::Limits& limits = start.spec.limits();
  worker.limits.running_max = limits.running_max();
  worker.limits.waiting_max = limits.waiting_max();
  worker.limits.chunk_tokens = limits.chunk_tokens();
  worker.limits.step_tokens_max = limits.step_tokens_max();
  worker.limits.draft_tokens_max = limits.draft_tokens_max();
  options.limits.output_tokens_max = limits.output_tokens_max();
  options.limits.request_timeout_ms = static_cast<int64_t>(limits.request_timeout_ms());
  options.limits.lease_ms = static_cast<int64_t>(limits.lease_ms());
  options.limits.connect_timeout_ms = static_cast<int64_t>(limits.connect_timeout_ms());
  options.limits.drain_timeout_ms = static_cast<int64_t>(limits.drain_timeout_ms());
  options.limits.page_lease_ms = static_cast<int64_t>(start.spec.transport().page_lease_ms());
  for (const v1::Manifest::Model& model : start.spec.models()) {
    if (model.name() != start.process.model) continue;
    worker.compute = model.compute() == v1::Manifest::COMPUTE_EXACT ? cpu::ComputeMode::exact
                                                                    : cpu::ComputeMode::fast;
    const kv::KvType both = kv_type(model.kv_type(), kv::KvType::f16);
    worker.kv_types = {kv_type(model.kv_type_k(), both), kv_type(model.kv_type_v(), both)};
    worker.context_max = model.context_max();
    if (!model.served_name().empty()) options.model_name = model.served_name();
  }
  return options;
}

}  // namespace troupe::cli
