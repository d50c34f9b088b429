// CheckProgram: allocations, slices by the shapes of what lies in them, launches.
#include "core/backends/gpusim/check_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/backends/gpusim/device_arrays.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;
using hlo::Shape;

// More than any machine has; sums of a few of them do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 48;
// Of CUDA, for every device that there is.
constexpr int64_t kMaxThreads = 1024, kMaxBlocksAcross = 65'535,
                  kMaxBlocks = (int64_t{1} << 31) - 1;

class ProgramCheck {
 public:
  explicit ProgramCheck(const DeviceProgram& program)
      : program_(program), module_(*program.module) {}

  Status Run() const {
    for (const int64_t bytes : program_.allocations) {
      if (bytes < 0 || bytes > kMaxBytes) {
        return Broken(fmt::format("an allocation of {} bytes", bytes));
      }
    }
    size_t next = 0;
    for (const InstructionId id : module_.Parameters(module_.entry_id())) {
      HLOSCOPE_TRY(Check(id, module_.shape(id), program_.parameters, next));
    }
    next = 0;
    const InstructionId root = module_.entry().root;
    HLOSCOPE_TRY(Check(root, module_.shape(root), program_.results, next));
    for (const auto& [id, slice] : program_.constants) {
      next = 0;
      HLOSCOPE_TRY(Check(id, module_.shape(id), std::span(&slice, 1), next));
    }
    for (const auto& sequence : program_.sequences) {
      for (const DeviceStep& step : sequence) HLOSCOPE_TRY(Check(step));
    }
    return {};
  }

 private:
  Status Check(const DeviceStep& step) const {
    size_t next = 0;
    if (step.kind != DeviceStepKind::kNothing) {
      for (const InstructionId operand : module_.operands(step.id)) {
        HLOSCOPE_TRY(Check(step.id, module_.shape(operand), step.operands, next));
      }
    }
    next = 0;
    HLOSCOPE_TRY(Check(step.id, module_.shape(step.id), step.results, next));
    if (step.kind == DeviceStepKind::kWhile && !Fits(step.predicate, 1)) {
      return Broken(fmt::format("the predicate of {} outside of its allocation", Name(step.id)));
    }
    for (const KernelLaunch& launch : step.launches) HLOSCOPE_TRY(Check(step.id, launch));
    return {};
  }

  Status Check(InstructionId id, const KernelLaunch& launch) const {
    const auto& [x, y, z] = launch.threads;
    const auto within = [](const dump::Extent3& extent, int64_t across, int64_t down) {
      return extent[0] >= 1 && extent[0] <= across && extent[1] >= 1 && extent[1] <= down &&
             extent[2] >= 1 && extent[2] <= down;
    };
    if (within(launch.threads, kMaxThreads, kMaxThreads) && x * y * z <= kMaxThreads &&
        within(launch.blocks, kMaxBlocks, kMaxBlocksAcross) && launch.shared_bytes <= kMaxBytes) {
      return {};
    }
    return InputError(
        fmt::format("{} launches {} with {} × {} × {} blocks of {} × {} × {} threads, which no GPU "
                    "allows",
                    Name(id), launch.kernel, launch.blocks[0], launch.blocks[1], launch.blocks[2],
                    x, y, z),
        "dump again; the file was changed or cut off");
  }

  Status Check(InstructionId id, const Shape& shape, std::span<const Slice> leaves,
               size_t& next) const {
    if (shape.IsTuple()) {
      for (const Shape& element : shape.elements()) HLOSCOPE_TRY(Check(id, element, leaves, next));
      return {};
    }
    if (next >= leaves.size()) return Broken("fewer values than the module has");
    const Slice& slice = leaves[next++];
    if (!slice.known() || Fits(slice, DeviceBytes(shape))) return {};
    return Broken(
        fmt::format("{} at {} + {} bytes of allocation {}, which has {} ({} or an operand)",
                    hlo::ToString(shape, false), slice.offset, slice.bytes, slice.allocation,
                    SizeOf(slice), Name(id)));
  }

  bool Fits(const Slice& slice, int64_t bytes) const {
    return slice.known() && std::cmp_less(slice.allocation, program_.allocations.size()) &&
           slice.offset >= 0 && slice.bytes >= bytes && slice.bytes <= SizeOf(slice) &&
           slice.offset <= SizeOf(slice) - slice.bytes;
  }

  int64_t SizeOf(const Slice& slice) const {
    const auto at = static_cast<size_t>(slice.allocation);
    return at < program_.allocations.size() ? program_.allocations[at] : 0;
  }

  std::string_view Name(InstructionId id) const { return module_.name(id); }

  static std::unexpected<Error> Broken(const std::string& what) {
    return InputError("the buffer assignment has " + what,
                      "dump again; the file was changed or cut off");
  }

  const DeviceProgram& program_;
  const hlo::Module& module_;
};

}  // namespace

Status CheckProgram(const DeviceProgram& program) { return ProgramCheck(program).Run(); }

}  // namespace hloscope::replay
