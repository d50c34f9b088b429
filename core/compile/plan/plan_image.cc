// Plans written and read; what is read is checked, so that running it stays inside of it.
#include "core/compile/plan/plan_image.h"

#include <algorithm>

namespace hloscope::compile {

template <typename A>
void Archive(A& archive, Archived<A, PlannedStep>& step) {
  // All members by name, so that a new one does not compile until it is here.
  auto& [kind, id, operands, results, sequences, number, last_number, is_one_function] = step;
  archive(kind, id, operands, results, sequences, number, last_number, is_one_function);
}

namespace {

template <typename A, typename P>
void ArchiveAll(A& archive, P& plan) {
  auto& [module, computation, buffers, sequences, parameters, results, arena_bytes, result_buffers,
         live_bytes] = plan;
  archive(computation, buffers, sequences, parameters, results);
  archive(arena_bytes, result_buffers, live_bytes);
}

class Check {
 public:
  explicit Check(const Plan& plan) : plan_(plan), module_(*plan.module) {}

  bool Holds() const {
    return plan_.computation.index < module_.computations().size() && plan_.arena_bytes >= 0 &&
           plan_.result_buffers >= 0 && plan_.result_buffers <= std::ssize(plan_.buffers) &&
           std::ranges::all_of(
               plan_.buffers, [&](const auto& each) { return Holds(each); }) &&
           Lead(plan_.parameters) && Lead(plan_.results) && HaveArrays() && StepsHold();
  }

 private:
  bool IsInstruction(hlo::InstructionId id) const {
    return id.index < module_.instructions().size();
  }
  bool IsConstant(hlo::InstructionId id) const {
    return module_.Get<hlo::Literal>(module_[id], hlo::AttributeKey::kConstantValue) != nullptr;
  }
  bool Lead(const std::vector<BufferNumber>& buffers) const {
    return std::ranges::all_of(buffers, [&](BufferNumber b) { return b < plan_.buffers.size(); });
  }

  bool Holds(const PlannedBuffer& buffer) const {
    if (buffer.bytes < 0 || buffer.at < 0 || !IsInstruction(buffer.made_by)) return false;
    switch (buffer.place) {
      case Place::kArena:
        return buffer.at <= plan_.arena_bytes && buffer.bytes <= plan_.arena_bytes - buffer.at;
      case Place::kResult:
        return buffer.at < plan_.result_buffers;
      case Place::kConstant:
        return buffer.at < std::ssize(module_.instructions()) &&
               IsConstant(hlo::InstructionId(static_cast<size_t>(buffer.at)));
      case Place::kParameter:
      case Place::kOutside:
        return true;
    }
    return false;
  }

  // As many as the computation has.
  bool HaveArrays() const {
    size_t parameters = 0;
    for (const hlo::InstructionId id : module_.Parameters(plan_.computation)) {
      parameters += module_.shape(id).LeafCount();
    }
    const hlo::InstructionId root = module_[plan_.computation].root;
    return parameters == plan_.parameters.size() &&
           module_.shape(root).LeafCount() == plan_.results.size();
  }

  // Sequences are a tree: each but the first belongs to one step.
  bool StepsHold() const {
    if (plan_.sequences.empty()) return false;
    std::vector<bool> is_run(plan_.sequences.size(), false);
    is_run[0] = true;
    for (SequenceNumber s = 0; s < plan_.sequences.size(); ++s) {
      for (const PlannedStep& step : plan_.sequences[s]) {
        if (!Holds(step)) return false;
        for (const SequenceNumber inner : step.sequences) {
          if (inner <= s || inner >= is_run.size() || is_run[inner]) return false;
          is_run[inner] = true;
        }
      }
    }
    return true;
  }

  bool Holds(const PlannedStep& step) const {
    if (!IsInstruction(step.id) || !Lead(step.operands) || !Lead(step.results)) return false;
    switch (step.kind) {
      case StepKind::kKernel:
      case StepKind::kLibraryCall:
      case StepKind::kEvaluate:
        return step.sequences.empty();
      case StepKind::kCopy:
        return step.operands.size() == 1 && step.results.size() == 1 &&
               plan_.buffers[step.operands[0]].bytes >= plan_.buffers[step.results[0]].bytes;
      case StepKind::kWhile:
        return step.operands.size() >= 1 && step.sequences.size() == 2;
      case StepKind::kConditional:
        return step.operands.size() >= 1 && !step.sequences.empty();
    }
    return false;
  }

  const Plan& plan_;
  const hlo::Module& module_;
};

}  // namespace

bool LeadsInside(const Plan& plan) { return Check(plan).Holds(); }

void Archive(ByteWriter& out, const Plan& plan) { ArchiveAll(out, plan); }

void Archive(ByteReader& in, Plan& plan) {
  ArchiveAll(in, plan);
  if (in.ok() && !LeadsInside(plan)) in.Fail();
}

}  // namespace hloscope::compile
