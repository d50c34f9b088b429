// Launches: a plan, its blocks, and what they did: counters and the first fault.
#include "core/ptx/block_runs.h"

namespace hloscope::ptx {
namespace {

void Count(Counters& counters, const Instruction& in, uint64_t warps, uint64_t lanes) {
  counters.warp_instructions += warps;
  uint64_t* const classes[] = {&counters.arithmetic, &counters.bitwise, &counters.move,
                               &counters.compare,    &counters.convert, &counters.function,
                               &counters.memory,     &counters.control, &counters.warp,
                               &counters.tensor};
  *classes[static_cast<size_t>(ClassOf(in.operation))] += lanes;
  const StateSpace space = ModifierStateSpace(in);
  const bool shared = space == StateSpace::kShared || space == StateSpace::kSharedCta;
  const bool global =
      space == StateSpace::kNone || space == StateSpace::kGlobal || space == StateSpace::kConst;
  const uint64_t bytes = lanes * BytesOf(in.type) * in.vector_width();
  const uint64_t matrix_bytes = warps * (in.slot_count - 1) * 128;
  switch (in.operation) {
    case Operation::kLd:
      (shared   ? counters.shared_read_bytes
       : global ? counters.global_read_bytes
                : counters.local_bytes) += bytes;
      break;
    case Operation::kSt:
      (shared   ? counters.shared_written_bytes
       : global ? counters.global_written_bytes
                : counters.local_bytes) += bytes;
      break;
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kRed:
      (shared ? counters.shared_read_bytes : counters.global_read_bytes) += bytes;
      (shared ? counters.shared_written_bytes : counters.global_written_bytes) += bytes;
      break;
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      counters.global_read_bytes += lanes * in.value;
      counters.shared_written_bytes += lanes * in.value;
      break;
    case Operation::kLdmatrix:
      counters.shared_read_bytes += matrix_bytes;
      break;
    case Operation::kStmatrix:
      counters.shared_written_bytes += matrix_bytes;
      break;
    default:
      break;
  }
}

Fault FaultOf(const LaunchPlan& plan, const std::string& file, const RawFault& raw,
              uint64_t block) {
  const Instruction& in = plan.kernel->instructions[raw.pc];
  Fault fault;
  fault.what = raw.what;
  fault.kernel = plan.kernel->name;
  fault.place = {file, in.position.line, in.position.column};
  fault.form = plan.kernel->forms[raw.pc];
  fault.block = Unflattened(block, plan.grid);
  fault.thread = Unflattened(raw.thread, plan.block);
  if (!raw.has_address) return fault;
  fault.address = raw.address;
  const uint64_t window = raw.address >> kWindowShift;
  if (window >= kFirstArgumentWindow &&
      window - kFirstArgumentWindow < plan.kernel->parameters.size()) {
    fault.argument = static_cast<uint32_t>(window - kFirstArgumentWindow);
  }
  return fault;
}

}  // namespace

std::string Fault::ToString() const {
  const auto at = [](const std::array<uint32_t, 3>& v) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) +
           ")";
  };
  return place.ToString() + ": `" + form + "` " + what + "; kernel " + kernel + ", block " +
         at(block) + ", thread " + at(thread);
}

Result<LaunchResult> Launch(const Module& module, const LaunchRequest& request,
                            const LaunchOptions& options) {
  LaunchPlan plan;
  HLOSCOPE_TRY(MakePlan(module.contents(), request, options, plan));
  HLOSCOPE_ASSIGN_OR_RETURN(const BlockRuns runs, RunBlocks(plan, options));
  LaunchResult result;
  for (size_t i = 0; i < runs.executions.warps.size(); ++i) {
    Count(result.counters, plan.kernel->instructions[i], runs.executions.warps[i],
          runs.executions.lanes[i]);
  }
  result.counters.padding_bytes = runs.padding_reads;
  if (runs.fault.has_value()) {
    result.fault =
        FaultOf(plan, module.contents().program.syntax.file, *runs.fault, runs.fault_block);
  }
  return result;
}

}  // namespace hloscope::ptx
