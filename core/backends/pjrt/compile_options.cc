#include "core/backends/pjrt/compile_options.h"

#include "core/hlo/proto/wire_writer.h"

namespace hloscope::replay::pjrt {
namespace {

// Field numbers of CompileOptionsProto, ExecutableBuildOptionsProto, DeviceAssignmentProto and
// OptionOverrideProto.
namespace field {
constexpr uint32_t kArgumentLayouts = 1, kBuildOptions = 3, kEnvOptionOverrides = 7;
constexpr uint32_t kDeviceOrdinal = 1, kResultLayout = 2, kDebugOptions = 3, kNumReplicas = 4,
                   kNumPartitions = 5, kUseSpmdPartitioning = 6, kDeviceAssignment = 9,
                   kRunBackendOnly = 11, kPropagateToResults = 12, kPropagateToParameters = 18,
                   kUseShardyPartitioner = 19;
constexpr uint32_t kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3,
                   kReplicaDeviceIds = 1;
constexpr uint32_t kMapKey = 1, kMapValue = 2, kStringValue = 1;
}  // namespace field

// One list of devices per partition: that of each replica.
void WriteAssignment(const CompileOptions& options, hlo::WireWriter& out) {
  const auto assignment = out.Open(field::kDeviceAssignment);
  out.Int(field::kReplicaCount, options.replicas);
  out.Int(field::kComputationCount, options.partitions);
  for (int64_t p = 0; p < options.partitions; ++p) {
    std::vector<int64_t> ids;
    for (int64_t r = 0; r < options.replicas; ++r) {
      ids.push_back(options.devices[static_cast<size_t>(r * options.partitions + p)]);
    }
    const auto list = out.Open(field::kComputationDevices);
    out.PackedInts(field::kReplicaDeviceIds, ids);
    out.Close(list);
  }
  out.Close(assignment);
}

void WriteFlags(uint32_t number, const std::vector<bool>& flags, hlo::WireWriter& out) {
  const std::vector<int64_t> values(flags.begin(), flags.end());
  if (!values.empty()) out.PackedInts(number, values);
}

// Plugins read True and False where flags are true and false.
std::string_view ForPlugin(std::string_view value) {
  if (value == "true") return "True";
  return value == "false" ? "False" : value;
}

}  // namespace

std::string Serialize(const CompileOptions& options) {
  hlo::WireWriter out;
  for (const std::string& shape : options.argument_layouts)
    out.Bytes(field::kArgumentLayouts, shape);
  const auto build = out.Open(field::kBuildOptions);
  out.Int(field::kDeviceOrdinal, -1);
  if (!options.result_layout.empty()) out.Bytes(field::kResultLayout, options.result_layout);
  if (!options.debug_options.empty()) out.Bytes(field::kDebugOptions, options.debug_options);
  out.Int(field::kNumReplicas, options.replicas);
  out.Int(field::kNumPartitions, options.partitions);
  out.BoolUnlessFalse(field::kUseSpmdPartitioning, options.partitioning.spmd);
  if (!options.devices.empty()) WriteAssignment(options, out);
  out.BoolUnlessFalse(field::kRunBackendOnly, options.backend_only);
  WriteFlags(field::kPropagateToResults, options.partitioning.to_results, out);
  WriteFlags(field::kPropagateToParameters, options.partitioning.to_parameters, out);
  out.BoolUnlessFalse(field::kUseShardyPartitioner, options.partitioning.shardy);
  out.Close(build);
  for (const auto& [name, value] : options.flags) {
    const auto entry = out.Open(field::kEnvOptionOverrides);
    out.Bytes(field::kMapKey, name);
    const auto override_value = out.Open(field::kMapValue);
    out.Bytes(field::kStringValue, ForPlugin(value));
    out.Close(override_value);
    out.Close(entry);
  }
  return std::move(out).Take();
}

}  // namespace hloscope::replay::pjrt
