// The evaluator beside each kernel, and cases of those that are apart.
#include "core/backends/gpusim/kernel_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/byte_archive.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::replay {

using runtime::Value;

template <typename A>
void Archive(A& a, Archived<A, KernelCaseFilter>& v) {
  a(v.name, v.execution);
}
template <typename A>
void Archive(A& a, Archived<A, KernelOutcome>& v) {
  a(v.instruction, v.computation, v.source, v.kernels, v.path, v.device, v.execution, v.same_bits,
    v.not_evaluated, v.kernels_case, v.why_no_case);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Gap {
  bool same_bits = true;
  double distance = 0;  // the largest difference, beside 1 and the size of what is meant

  void Apart() {
    same_bits = false;
    distance = kInfinity;
  }
};

void Measure(const hlo::Literal& actual, const hlo::Literal& meant, Gap& gap) {
  if (actual.bytes().size() != meant.bytes().size()) return gap.Apart();
  if (std::ranges::equal(actual.bytes(), meant.bytes())) return;
  gap.same_bits = false;
  const hlo::ElementType type = meant.shape().element_type();
  const auto width = static_cast<size_t>(hlo::StorageBytes(type));
  for (size_t at = 0; width > 0 && at < meant.bytes().size(); at += width) {
    eval::Complex a, m;
    eval::LoadAs(type, actual.bytes().data() + at, &a, 1);
    eval::LoadAs(type, meant.bytes().data() + at, &m, 1);
    if (a == m || (std::isnan(std::abs(a)) && std::isnan(std::abs(m)))) continue;
    const double off = std::abs(a - m), size = std::abs(m);
    if (!std::isfinite(off)) return gap.Apart();
    gap.distance = std::max(gap.distance, off / (1 + size));
  }
}

void Measure(const Value& actual, const Value& meant, Gap& gap) {
  const bool tuples = actual.is_tuple() && meant.is_tuple();
  if (tuples && actual.elements().size() == meant.elements().size()) {
    for (size_t i = 0; i < meant.elements().size(); ++i) {
      Measure(actual.elements()[i], meant.elements()[i], gap);
    }
  } else if (actual.is_array() && meant.is_array()) {
    Measure(actual.literal(), meant.literal(), gap);
  } else {
    gap.Apart();
  }
}

std::string PathOf(const hlo::Module& module, std::span<const runtime::Frame> frames) {
  std::string path;
  for (const runtime::Frame& frame : frames) {
    path += path.empty() ? "" : ", ";
    path += module.name(frame.caller);
    if (module[frame.caller].opcode != hlo::Opcode::kWhile) continue;
    path += fmt::format(" #{}", frame.iteration);
  }
  return path;
}

Status Flatten(const Value& value, std::vector<hlo::Literal>& leaves) {
  if (value.is_missing()) return std::unexpected(value.error());
  if (value.is_tuple()) {
    for (const Value& element : value.elements()) HLOSCOPE_TRY(Flatten(element, leaves));
    return {};
  }
  leaves.push_back(value.is_array() ? value.literal() : hlo::Literal::Token());
  return {};
}

}  // namespace

SearchRequest KernelCasesRequest(const KernelCaseFilter& filter) {
  ByteWriter out;
  out(filter);
  return {std::string(kKernelCasesSearch), std::move(out).Take()};
}

std::optional<KernelOutcome> ReadKernelOutcome(const SearchFinding& finding) {
  if (finding.name != kKernelCasesSearch || finding.values.size() > 2) return std::nullopt;
  KernelOutcome outcome;
  ByteReader in(std::as_bytes(std::span(finding.fields)));
  in(outcome);
  if (!in.ok() || !in.empty()) return std::nullopt;
  if (finding.values.size() == 2) {
    outcome.actual = finding.values[0];
    outcome.meant = finding.values[1];
  }
  outcome.program = finding.module;
  return outcome;
}

Result<std::unique_ptr<KernelCases>> KernelCases::Make(const LoadedProgram& loaded,
                                                       const SearchRequest& request,
                                                       RunStream& stream) {
  KernelCaseFilter filter;
  ByteReader in(std::as_bytes(std::span(request.request)));
  in(filter);
  if (!in.ok()) return InternalError("a malformed filter of kernel cases");
  return std::unique_ptr<KernelCases>(new KernelCases(loaded, std::move(filter), stream));
}

KernelOutcome KernelCases::OutcomeOf(const DeviceStep& step, const runtime::Site& site) {
  const hlo::Module& module = *loaded_.program.module;
  const hlo::InstructionId id = site.instruction;
  KernelOutcome outcome;
  outcome.instruction = module.name(id);
  outcome.computation = module[module[module[id].computation].name];
  outcome.source = ToString(hlo::SourceLineOf(module, id));
  for (const KernelLaunch& launch : step.launches) {
    outcome.kernels += (outcome.kernels.empty() ? "" : ", ") + launch.kernel;
  }
  outcome.path = PathOf(module, site.frames);
  outcome.device = site.device;
  outcome.execution = seen_[{site.device, id}].executions++;
  return outcome;
}

Status KernelCases::OnStep(const StepValues& values) {
  const hlo::InstructionId id = values.site.instruction;
  KernelOutcome outcome = OutcomeOf(values.step, values.site);
  if (!filter_.name.empty()) {
    const bool named = IsNamed(values.step, outcome);
    if (!named && outcome.execution > 0) return {};
    if (named) AddCase(values.step, values.operands, outcome);
    Tell(outcome, {});
    return {};
  }
  std::vector<Value> operands(values.operands.begin(), values.operands.end());
  auto meant = values.machine.EvaluateInstruction(id, operands);
  if (!meant.has_value()) {
    if (meant.error().error_class != ErrorClass::kUnsupported) {
      return std::unexpected(std::move(meant).error());
    }
    if (outcome.execution > 0) return {};
    outcome.not_evaluated = meant.error().ToString();
    Tell(outcome, {});
    return {};
  }
  Gap gap;
  Measure(values.result, *meant, gap);
  Seen& seen = seen_[{values.site.device, id}];
  if (gap.distance <= 2 * seen.distance) return {};
  seen.distance = gap.distance;
  outcome.same_bits = gap.same_bits;
  if (!gap.same_bits) AddCase(values.step, values.operands, outcome);
  Tell(outcome, gap.same_bits ? std::vector<Value>{} : std::vector{values.result, *meant});
  return {};
}

void KernelCases::OnFailure(const DeviceStep& step, const runtime::Site& site,
                            std::span<const Value> operands) {
  KernelOutcome outcome = OutcomeOf(step, site);
  if (filter_.name.empty() || !IsNamed(step, outcome)) return;
  AddCase(step, operands, outcome);
  Tell(outcome, {});
}

void KernelCases::Tell(const KernelOutcome& outcome, std::vector<Value> values) {
  SearchFinding finding{std::string(kKernelCasesSearch), {}, std::move(values), nullptr};
  if (outcome.kernels_case) finding.module = loaded_.program.module;
  ByteWriter fields;
  fields(outcome);
  finding.fields = std::move(fields).Take();
  stream_.Take(std::move(finding));
}

bool KernelCases::IsNamed(const DeviceStep& step, const KernelOutcome& outcome) const {
  if (outcome.execution != filter_.execution || outcome.device != 0) return false;
  if (outcome.instruction == filter_.name) return true;
  return std::ranges::any_of(
      step.launches, [&](const KernelLaunch& launch) { return launch.kernel == filter_.name; });
}

void KernelCases::AddCase(const DeviceStep& step, std::span<const Value> operands,
                          KernelOutcome& outcome) const {
  std::vector<hlo::Literal> leaves;
  Status flattened;
  for (const Value& operand : operands) {
    flattened = Flatten(operand, leaves);
    if (!flattened.has_value()) break;
  }
  auto made = flattened.has_value() ? MakeKernelCase(loaded_, step, leaves)
                                    : std::unexpected(flattened.error());
  if (made.has_value()) {
    outcome.kernels_case = *std::move(made);
  } else {
    outcome.why_no_case = made.error().ToString();
  }
}

}  // namespace hloscope::replay
