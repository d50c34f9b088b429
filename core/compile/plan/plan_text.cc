// ToText: a plan for people.
#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "core/compile/kernel_rules.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

namespace {

constexpr std::string_view kKinds[] = {"kernel", "library-call", "evaluate",
                                       "copy",   "while",        "conditional"};
constexpr std::string_view kPlaces[] = {"parameter", "constant", "result", "arena", "outside"};

class PlanText {
 public:
  explicit PlanText(const Plan& plan) : plan_(plan), out_(std::back_inserter(text_)) {}

  std::string Write() {
    fmt::format_to(out_, "plan of {}: arena {} bytes, {} bytes live at the peak, {} results\n",
                   plan_.module->name(), plan_.arena_bytes, plan_.live_bytes, plan_.results.size());
    text_ += "\nbuffers\n";
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) WriteBuffer(b);
    text_ += "\nsteps\n";
    WriteSteps(0, 1);
    text_ += "\nresults";
    WriteList(plan_.results);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  void WriteBuffer(BufferNumber b) {
    const PlannedBuffer& it = plan_.buffers[b];
    if (it.last < 0) return;
    fmt::format_to(out_, "  b{:<5} {:9} {:>10} {:>12} bytes  steps {}-{}  {}\n", b,
                   kPlaces[static_cast<size_t>(it.place)], it.at, it.bytes, it.first, it.last,
                   plan_.module->name(it.made_by));
  }
  void WriteList(const std::vector<BufferNumber>& buffers) {
    for (const BufferNumber b : buffers) fmt::format_to(out_, " b{}", b);
  }
  void WriteSteps(SequenceNumber s, size_t depth) {
    for (const PlannedStep& step : plan_.sequences[s]) {
      fmt::format_to(out_, "{:{}}{} {} {}:", "", 2 * depth, step.number,
                     kKinds[static_cast<size_t>(step.kind)], plan_.module->name(step.id));
      WriteList(step.operands);
      text_ += " ->";
      WriteList(step.results);
      if (step.is_one_function) text_ += " (one function)";
      if (step.kind == StepKind::kEvaluate) {
        fmt::format_to(out_, " ({}: {})", hlo::ToString((*plan_.module)[step.id].opcode),
                       WhyNoKernel(*plan_.module, step.id));
      }
      text_ += '\n';
      for (size_t k = 0; k < step.sequences.size(); ++k) {
        fmt::format_to(out_, "{:{}}{}\n", "", 2 * depth + 1, NameOfSequence(step, k));
        WriteSteps(step.sequences[k], depth + 1);
      }
    }
  }

  const Plan& plan_;
  std::string text_;
  std::back_insert_iterator<std::string> out_;
};

}  // namespace

std::string NameOfSequence(const PlannedStep& step, size_t k) {
  if (step.kind == StepKind::kWhile) return k == 0 ? "condition" : "body";
  return fmt::format("branch {}", k);
}

std::string ToText(const Plan& plan) { return PlanText(plan).Write(); }

}  // namespace hloscope::compile
