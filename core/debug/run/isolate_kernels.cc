// Reports of kernels from what a run tells of them.
#include "core/debug/run/isolate_kernels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/backends/gpusim/kernel_meanings.h"

namespace hloscope::debug {
namespace {

using replay::KernelMeaning;
using runtime::Value;

struct Leaf {
  std::vector<int64_t> index;
  Result<hlo::Literal> value;
};

void Flatten(const Value& value, std::vector<int64_t>& index, std::vector<Leaf>& leaves) {
  if (!value.is_tuple()) {
    leaves.push_back({index, value.ToLiteral()});
    return;
  }
  for (size_t i = 0; i < value.elements().size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    Flatten(value.elements()[i], index, leaves);
    index.pop_back();
  }
}

std::vector<Leaf> LeavesOf(const Value& value) {
  std::vector<Leaf> leaves;
  std::vector<int64_t> index;
  Flatten(value, index, leaves);
  return leaves;
}

InstructionReport ReportOf(const KernelMeaning& meaning, const BoundsRequest& bounds,
                           bool statistics) {
  InstructionReport report;
  report.instruction = meaning.instruction;
  report.computation = meaning.computation;
  report.opcode = meaning.opcode;
  report.source = meaning.source;
  report.kernels = meaning.kernels;
  report.path = meaning.path;
  report.run_us = meaning.run_us;
  const std::vector<Leaf> actual = LeavesOf(meaning.actual), meant = LeavesOf(meaning.meant);
  for (const auto* side : {&meant, &actual}) {
    for (const Leaf& leaf : *side) {
      if (!leaf.value.has_value() && !report.error) report.error = leaf.value.error();
    }
  }
  if (!report.error && actual.size() != meant.size()) {
    report.error = InternalError("a kernel has other results than its instruction").error();
  }
  if (report.error) return report;
  report.compared = true;
  for (size_t i = 0; i < meant.size(); ++i) {
    if (!meant[i].value->shape().IsArray()) continue;
    LeafComparison leaf = CompareArrays(*actual[i].value, *meant[i].value, bounds);
    leaf.index = meant[i].index;
    report.outputs.push_back(std::move(leaf));
    if (!statistics) continue;
    report.actual_statistics.push_back(replay::StatisticsOf(*actual[i].value));
    report.expected_statistics.push_back(replay::StatisticsOf(*meant[i].value));
  }
  return report;
}

class KernelStream : public replay::RunStream {
 public:
  KernelStream(const BoundsRequest& bounds, bool statistics,
               const std::function<void(const InstructionReport&)>& on_instruction)
      : bounds_(bounds), statistics_(statistics), on_instruction_(on_instruction) {}

  void Take(replay::RunEvent event) override {
    const auto* finding = std::get_if<replay::SearchFinding>(&event);
    const auto meaning = finding == nullptr ? std::nullopt : replay::ReadKernelMeaning(*finding);
    if (!meaning) return;
    const InstructionReport report = ReportOf(*meaning, bounds_, statistics_);
    const auto [told, is_first] = differs_.try_emplace(meaning->instruction, report.differs());
    if (is_first) ++report_.instructions;
    if (!is_first && (told->second || !report.differs())) return;
    told->second = report.differs();
    if (report.differs()) {
      ++report_.differing;
      if (!report_.first_divergent) report_.first_divergent = report;
    }
    on_instruction_(report);
  }
  KernelsReport TakeReport() { return std::move(report_); }

 private:
  const BoundsRequest& bounds_;
  bool statistics_;
  const std::function<void(const InstructionReport&)>& on_instruction_;
  std::map<std::string, bool> differs_;  // by instruction that was told
  KernelsReport report_;
};

}  // namespace

Result<KernelsReport> IsolateKernels(
    replay::Executable& executable, std::span<const std::vector<hlo::Literal>> inputs,
    const replay::RunOptions& options, const BoundsRequest& bounds, bool statistics,
    const std::function<void(const InstructionReport&)>& on_instruction) {
  replay::RunOptions own = options;
  own.capture = {};
  own.capture.results = replay::CaptureForm::kNone;
  own.capture.search = replay::SearchRequest{std::string(replay::kKernelMeaningsSearch), {}};
  own.record.steps = 0;
  KernelStream stream(bounds, statistics, on_instruction);
  if (auto run = executable.Run(inputs, own, stream); !run.has_value()) {
    return std::unexpected(std::move(run).error());
  }
  return stream.TakeReport();
}

}  // namespace hloscope::debug
