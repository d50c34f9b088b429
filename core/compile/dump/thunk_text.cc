// Texts of a plan's steps, with the words of XLA's thunks.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/compile/dump/dump_texts.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

namespace {

// What a step reads and writes, with all that it runs.
struct Uses {
  std::vector<BufferNumber> reads, writes;
};

constexpr hlo::OpcodeTable<std::string_view> kLibraryKinds(
    {
        {hlo::Opcode::kDot, "kOneDnnDot"},
        {hlo::Opcode::kConvolution, "kOneDnnConvolution"},
        {hlo::Opcode::kFft, "kDucc0Fft"},
    },
    "kLibraryCall");

std::string_view KindOf(const hlo::Module& module, const PlannedStep& step, const StepCode* code) {
  switch (step.kind) {
    case StepKind::kKernel:
    case StepKind::kLibraryCall:
      if (code == nullptr) return "kEvaluate";
      return code->is_library ? kLibraryKinds[module[step.id].opcode] : "kKernel";
    case StepKind::kEvaluate:
      return "kEvaluate";
    case StepKind::kCopy:
      return "kCopy";
    case StepKind::kWhile:
      return code == nullptr ? "kWhile" : "kKernel";
    case StepKind::kConditional:
      return "kConditional";
  }
  return "kEvaluate";
}

class ThunkText {
 public:
  ThunkText(const Plan& plan, const StepCodes& codes) : plan_(plan), codes_(codes) {}

  std::string Steps() {
    if (plan_.sequences[0].empty()) return "No thunks.\n";
    Write(0, 0);
    return std::move(text_);
  }
  std::string Metadata() {
    WriteMetadata(0);
    return std::move(text_);
  }

 private:
  const StepCode* CodeOf(const PlannedStep& step) const {
    if (step.kind == StepKind::kCopy || step.kind == StepKind::kEvaluate) return nullptr;
    const auto found = codes_.find(step.number);
    return found == codes_.end() ? nullptr : &found->second;
  }
  void Write(SequenceNumber s, size_t depth) {
    const Sequence& steps = plan_.sequences[s];
    std::vector<Uses> uses(steps.size());
    for (size_t k = 0; k < steps.size(); ++k) AddUses(steps[k], uses[k]);
    std::vector<size_t> previous(steps.size()), next(steps.size(), steps.size());
    for (size_t k = 0; k < steps.size(); ++k) {
      size_t before = k;
      while (before > 0 && !Conflict(uses[before - 1], uses[k])) --before;
      previous[k] = before;  // one behind the step
      if (before > 0 && next[before - 1] == steps.size()) next[before - 1] = k;
    }
    for (size_t k = 0; k < steps.size(); ++k) {
      WriteStep(steps, k, previous[k], next[k], depth);
    }
  }

  void WriteStep(const Sequence& steps, size_t k, size_t previous, size_t next, size_t depth) {
    const PlannedStep& step = steps[k];
    const auto out = std::back_inserter(text_);
    const std::string before =
        previous == 0
            ? "source"
            : fmt::format("prev={:03} ({})", steps[previous - 1].number, k + 1 - previous);
    const std::string behind = next == steps.size()
                                   ? "sink"
                                   : fmt::format("next={:03} ({})", steps[next].number, next - k);
    const StepCode* code = CodeOf(step);
    fmt::format_to(out, "{:{}}{:03}: {} [{} | {}] {}\n", "", 2 * depth, step.number,
                   KindOf(*plan_.module, step, code), before, behind, Description(step, code));
    // Those of a loop that is one function too: their kernels are in its code.
    for (size_t i = 0; i < step.sequences.size(); ++i) {
      fmt::format_to(out, "{:{}}{}:\n", "", 2 * depth + 1, NameOfSequence(step, i));
      if (plan_.sequences[step.sequences[i]].empty()) {
        fmt::format_to(out, "{:{}}No thunks.\n", "", 2 * depth + 2);
      }
      Write(step.sequences[i], depth + 1);
    }
  }

  std::string Description(const PlannedStep& step, const StepCode* code) const {
    if (step.kind == StepKind::kCopy) {
      return fmt::format("{} bytes for {}", plan_.buffers[step.results[0]].bytes,
                         plan_.module->name(step.id));
    }
    if (code == nullptr) return std::string(plan_.module->name(step.id));
    if (code->is_library) return fmt::format("{} grains", code->grains);
    return fmt::format(", kernel = {}, launch dimensions = blocks: {{{}, 1, 1}}", code->name,
                       code->grains);
  }

  void AddUses(const PlannedStep& step, Uses& uses) const {
    uses.reads.insert(uses.reads.end(), step.operands.begin(), step.operands.end());
    uses.writes.insert(uses.writes.end(), step.results.begin(), step.results.end());
    for (const SequenceNumber s : step.sequences) {
      ForEachStep(plan_, s, [&](const PlannedStep& inner) {
        uses.reads.insert(uses.reads.end(), inner.operands.begin(), inner.operands.end());
        uses.writes.insert(uses.writes.end(), inner.results.begin(), inner.results.end());
      });
    }
  }
  bool Overlap(BufferNumber a, BufferNumber b) const {
    if (a == b) return true;
    const PlannedBuffer &first = plan_.buffers[a], &second = plan_.buffers[b];
    return first.place == Place::kArena && second.place == Place::kArena &&
           first.at < second.at + second.bytes && second.at < first.at + first.bytes;
  }
  bool AnyOverlap(const std::vector<BufferNumber>& a, const std::vector<BufferNumber>& b) const {
    return std::ranges::any_of(a, [&](BufferNumber x) {
      return std::ranges::any_of(b, [&](BufferNumber y) { return Overlap(x, y); });
    });
  }
  bool Conflict(const Uses& a, const Uses& b) const {
    return AnyOverlap(a.writes, b.reads) || AnyOverlap(a.reads, b.writes) ||
           AnyOverlap(a.writes, b.writes);
  }

  void WriteMetadata(SequenceNumber s) {
    for (const PlannedStep& step : plan_.sequences[s]) {
      fmt::format_to(std::back_inserter(text_),
                     "thunk_metadata {{\n  thunk_info {{\n    profile_annotation: \"{}\"\n"
                     "    thunk_id: {}\n  }}\n  thunk_kind: \"{}\"\n}}\n",
                     plan_.module->name(step.id), step.number,
                     KindOf(*plan_.module, step, CodeOf(step)));
      for (const SequenceNumber inner : step.sequences) WriteMetadata(inner);
    }
  }

  const Plan& plan_;
  const StepCodes& codes_;
  std::string text_;
};

}  // namespace

std::string ThunkSequenceText(const Plan& plan, const StepCodes& codes) {
  return ThunkText(plan, codes).Steps();
}

std::string ThunkMetadataText(const Plan& plan, const StepCodes& codes) {
  return ThunkText(plan, codes).Metadata();
}

}  // namespace hloscope::compile
