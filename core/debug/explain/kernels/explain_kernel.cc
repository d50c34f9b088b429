// One thing is switched at a time, in the kernel or in what it is held to.
#include "core/debug/explain/kernels/explain_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/backends/pjrt/device_bytes.h"
#include "core/base/counted.h"
#include "core/debug/compare/difference_patterns.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/cause_tries.h"
#include "core/debug/explain/kernels/look_first.h"
#include "core/debug/explain/kernels/rank_lines.h"
#include "core/debug/explain/kernels/rounding_budget.h"
#include "core/debug/explain/kernels/split_products.h"
#include "core/debug/explain/kernels/switch_causes.h"
#include "core/debug/explain/kernels/value_signatures.h"
#include "core/debug/explain/kernels/wrong_elements.h"
#include "core/eval/numbers/precise.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;
using replay::CaseMemory;

namespace {

using Arrays = std::vector<Literal>;

// Where an element lies in an array on the device, in bytes.
uint64_t ByteOf(const hlo::Shape& shape, const std::vector<int64_t>& index) {
  const std::vector<int64_t> strides = StridesInMemory(shape);
  const int64_t at = std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
  return static_cast<uint64_t>(at * hlo::StorageBytes(shape.element_type()));
}

int64_t RowMajor(const hlo::Shape& shape, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.rank(); ++d) at = at * shape.dimension(d) + index[d];
  return at;
}

class Explainer {
 public:
  Explainer(const KernelQuestion& question, const RunSpec& request, const std::stop_token& stop)
      : question_(question), request_(request), stop_(stop) {}

  Result<std::optional<KernelExplanation>> Run() {
    HLOSCOPE_ASSIGN_OR_RETURN(expected_, Evaluated(question_.alone));
    if (question_.demand == KernelDemand::kRoundings) {
      HLOSCOPE_ASSIGN_OR_RETURN(const bool settled, SettleByRoundings());
      if (settled && out_.confirmed) return std::move(out_);
      if (settled) return std::nullopt;
    }
    replay::KernelDiagnosis diagnosis = DiagnosisOf();
    diagnosis.switches = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer, Diagnose(diagnosis));
    HLOSCOPE_ASSIGN_OR_RETURN(actual_, ArraysIn(answer.memory));
    const size_t worst = WorstArray(actual_);
    if (worst == actual_.size()) return std::nullopt;
    out_.worst = Compare(worst, actual_[worst], expected_[worst]);
    // What was found out before stands.
    if (const Status found = FindPlace(worst); !found) {
      if (stop_.stop_requested()) return std::unexpected(found.error());
      out_.warnings.push_back("the thread that stored the worst element was not found: " +
                              found.error().ToString());
    }
    tries_.emplace(actual_, expected_, [this](size_t i, const Literal& a, const Literal& e) {
      return Compare(i, a, e);
    });
    TrySwitches(answer.switches);
    TryPartSums("", actual_);
    TryReferences();
    if (!tries_->cause()) Check();
    LookFirstAt(worst);
    Decide();
    const std::vector<DivergeTry> tries = tries_->Take();
    out_.tries.insert(out_.tries.begin(), tries.begin(), tries.end());
    return std::move(out_);
  }

 private:
  replay::KernelDiagnosis DiagnosisOf() const {
    replay::KernelDiagnosis diagnosis;
    diagnosis.kernels = question_.kernels;
    diagnosis.fault = question_.fault;
    diagnosis.threads = request_.budget.threads;
    return diagnosis;
  }

  LeafComparison Compare(size_t array, const Literal& actual, const Literal& expected) const {
    if (budget_) return budget_->Compare(array, actual, expected);
    if (question_.demand == KernelDemand::kEveryBit)
      return CompareArrays(actual, expected, {.absolute = 0, .relative = 0});
    return CompareArrays(actual, expected, request_.compare.bounds);
  }

  // What costs least first; what is left over is beyond the roundings of the kernel. A finding is
  // confirmed.
  Result<bool> SettleByRoundings() {
    replay::KernelDiagnosis diagnosis = DiagnosisOf();
    diagnosis.directed = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer plain, Diagnose(diagnosis));
    HLOSCOPE_ASSIGN_OR_RETURN(actual_, ArraysIn(plain.memory));
    const Arrays precise = InDoublePrecision();
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_directed, BlameDirectedRounding(plain, precise));
    if (is_directed) return true;
    const auto agrees = [&](const Arrays& arrays) {
      LeafComparison worst;
      return Agrees(arrays, expected_, worst) ||
             (!precise.empty() && Agrees(arrays, precise, worst));
    };
    budget_.emplace(actual_, std::vector<Arrays>());
    if (agrees(actual_)) return true;
    diagnosis.directed = false;
    diagnosis.roundings = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer drawn, Diagnose(diagnosis));
    if (drawn.rounded.empty()) return true;
    std::vector<Arrays> rounded;
    for (const CaseMemory& draw : drawn.rounded) {
      HLOSCOPE_ASSIGN_OR_RETURN(Arrays arrays, ArraysIn(draw));
      rounded.push_back(std::move(arrays));
    }
    budget_.emplace(actual_, rounded);
    if (agrees(actual_)) return true;
    // Or with one thing done otherwise that may be.
    diagnosis.roundings = false;
    diagnosis.switches = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer, Diagnose(diagnosis));
    for (const replay::SwitchedRun& run : answer.switches) {
      if (!run.error.empty() || !CauseOf(static_cast<ptx::Switch>(run.which))) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const Arrays arrays, ArraysIn(run.memory));
      if (agrees(arrays)) return true;
    }
    return false;
  }

  // The instruction's results in double precision, rounded once; empty where there are none.
  Arrays InDoublePrecision() const {
    auto arrays = Evaluated(eval::WidenModule(*question_.alone));
    if (!arrays.has_value()) return {};
    for (size_t i = 0; i < arrays->size(); ++i)
      (*arrays)[i] = eval::ConvertLiteral((*arrays)[i], actual_[i].shape());
    return *std::move(arrays);
  }

  // One that rounds otherwise than to nearest, which no instruction means; unless nearest is
  // further from what is meant, by more elements than chance makes of as many.
  Result<bool> BlameDirectedRounding(const replay::KernelDiagnosisAnswer& answer,
                                     const Arrays& precise) {
    for (const replay::DirectedRun& run : answer.directed) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Arrays nearest, ArraysIn(run.memory));
      const Nearer nearer = NearerTo(precise.empty() ? expected_ : precise, nearest, actual_);
      if (nearer.first + nearer.second == 0 ||
          static_cast<double>(nearer.second - nearer.first) > kSigmas * nearer.chance)
        continue;
      out_.cause = Cause::kDirectedRounding;
      out_.confirmed = true;
      out_.finding.kernel = question_.kernels.launches[0].kernel;
      out_.finding.file = run.file;
      out_.finding.line = run.line;
      out_.worst = CompareArrays(actual_[0], expected_[0], {.absolute = 0, .relative = 0});
      out_.tries.push_back({fmt::format("line {}: `{}` to nearest", run.line, run.form), true,
                            fmt::format("{} come nearer to the exact value, {} move away",
                                        Counted(nearer.first, "element"), nearer.second)});
      return true;
    }
    return false;
  }

  Result<replay::KernelDiagnosisAnswer> Diagnose(const replay::KernelDiagnosis& diagnosis) const {
    const bool here = question_.fault != nullptr || request_.execution.workers == nullptr;
    return here ? replay::DiagnoseKernelHere(diagnosis)
                : DiagnoseWithin(diagnosis, request_, stop_);
  }

  Result<Arrays> Evaluated(const std::shared_ptr<const Module>& module) const {
    return Evaluated(module, question_.arguments);
  }

  Result<Arrays> Evaluated(const std::shared_ptr<const Module>& module,
                           const std::vector<Literal>& arguments) const {
    const RunReport report =
        RunModule(module, AloneSpec(request_, request_.reference.name, arguments), stop_);
    if (report.error) return std::unexpected(*report.error);
    Arrays arrays;
    for (const RunOutput& output : report.outputs) {
      if (output.missing) return std::unexpected(*output.missing);
      arrays.push_back(output.value);
    }
    if (arrays.size() != question_.results.size()) {
      return InternalError("the instruction by itself has other results");
    }
    return arrays;
  }

  Result<Arrays> ArraysIn(const CaseMemory& memory) const {
    Arrays arrays;
    for (size_t i = 0; i < question_.results.size(); ++i) {
      const replay::CaseSlice& slice = question_.kernels.results[i];
      HLOSCOPE_ASSIGN_OR_RETURN(
          Literal array, replay::pjrt::FromDeviceBytes(question_.results[i],
                                                       memory[slice.region].data() + slice.offset));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  // The array of the largest errors; their number where all agree.
  size_t WorstArray(const Arrays& arrays) const {
    size_t worst = arrays.size();
    double most = -1;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const LeafComparison leaf = Compare(i, arrays[i], expected_[i]);
      if (leaf.equal()) continue;
      const double error =
          leaf.nan_mismatched + leaf.inf_mismatched > 0 ? INFINITY : leaf.max_rel_error;
      if (error <= most) continue;
      most = error;
      worst = i;
    }
    return worst;
  }

  Status FindPlace(size_t array) {
    KernelFinding& finding = out_.finding;
    const auto& mismatch =
        out_.worst.worst_mismatch ? out_.worst.worst_mismatch : out_.worst.first_mismatch;
    finding.kernel = question_.kernels.launches.empty() ? "" : question_.kernels.launches[0].kernel;
    finding.result = static_cast<int64_t>(array);
    if (!mismatch) return {};
    finding.index = mismatch->index;
    finding.value = mismatch->actual;
    finding.expected = mismatch->expected;
    const hlo::Shape& shape = question_.results[array];
    if (hlo::Info(shape.element_type()).bits < 8) {
      out_.warnings.push_back("elements narrower than a byte are not traced back");
      return {};
    }
    replay::KernelDiagnosis diagnosis = DiagnosisOf();
    diagnosis.byte = replay::StudiedByte{
        array, ByteOf(shape, mismatch->index),
        WrongElements(actual_[array], expected_[array], shape, request_.compare.bounds)};
    diagnosis.reference = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer, Diagnose(diagnosis));
    if (!answer.byte) {
      out_.warnings.push_back("no kernel is given the memory of the worst element");
      return {};
    }
    const replay::ByteDiagnosis& byte = *answer.byte;
    if (byte.stores == 0) out_.warnings.push_back("no thread stored the worst element");
    finding.kernel = question_.kernels.launches[byte.launch].kernel;
    finding.file = byte.file;
    finding.block = byte.block;
    finding.thread = byte.thread;
    finding.line = byte.line;
    finding.stores = static_cast<int64_t>(byte.stores);
    const hlo::ElementType type = shape.element_type();
    const ErrorBounds bounds = BoundsFor(type, request_.compare.bounds);
    place_ = replay::EditTrials{};
    place_->launch = byte.launch;
    place_->block = byte.block;
    place_->result = array;
    place_->element = diagnosis.byte->byte / static_cast<uint64_t>(hlo::StorageBytes(type));
    place_->type = type;
    place_->is_missing = byte.stores == 0;
    place_->absolute = bounds.absolute;
    place_->relative = bounds.relative;
    if (!byte.trace_error.empty()) out_.warnings.push_back(byte.trace_error);
    if (answer.reference) {
      finding.reference_agrees = answer.reference->agrees;
      finding.reference_checked = static_cast<int64_t>(answer.reference->checked);
      finding.reference_difference = answer.reference->difference;
    }
    TellSlice(byte, RowMajor(shape, mismatch->index), shape.ElementCount().value_or(0));
    return {};
  }

  void TellSlice(const replay::ByteDiagnosis& byte, int64_t element, int64_t elements) {
    auto signatures =
        ValueSignatures::Make(*question_.alone, question_.arguments, element, elements);
    if (!signatures.has_value()) {
      out_.warnings.push_back("values inside the instruction are not known: " +
                              signatures.error().message);
    }
    out_.finding.slice_complete = byte.complete;
    out_.finding.slice_shortened = byte.shortened;
    std::vector<bool> is_right;
    for (const replay::StudiedStep& step : byte.steps) {
      KernelLine line{step.kernel, step.thread, step.line,    step.text, step.values,
                      "",          false,       step.control, 0};
      SignatureMatch match;
      if (signatures.has_value()) match = MatchOf(*signatures, step);
      line.instruction = match.instruction;
      line.same_bits = match.same_bits;
      is_right.push_back(match.same_bits && match.at_element);
      out_.finding.slice.push_back(std::move(line));
    }
    RankLines(byte.steps, is_right, out_.finding.slice);
  }

  // The lines of the slice, and, where nothing explains the difference, those that make the results
  // right when they are written otherwise.
  void LookFirstAt(size_t array) {
    KernelFinding& finding = out_.finding;
    if (question_.demand == KernelDemand::kBounds) {
      finding.patterns = DifferencePatterns(
          actual_[array], expected_[array],
          BoundsFor(actual_[array].shape().element_type(), request_.compare.bounds));
    }
    replay::EditAnswer tried;
    if (!tries_->cause() && place_) {
      place_->expected = BytesOf(array);
      place_->lines = RankedLines(finding);
      place_->sizes = SizesIn(*question_.alone);
      replay::KernelDiagnosis diagnosis = DiagnosisOf();
      diagnosis.edits = std::move(place_);
      auto answer = Diagnose(diagnosis);
      if (answer.has_value()) {
        tried = std::move(answer->edits);
      } else {
        out_.warnings.push_back("no line was written otherwise: " + answer.error().ToString());
      }
    }
    if (tried.is_only_block) {
      finding.patterns.push_back(fmt::format("only block ({}, {}, {})", finding.block[0],
                                             finding.block[1], finding.block[2]));
    }
    finding.look_first = LinesToLookAt(finding, question_.kernels, tried.edits);
  }

  // Of an array of what is expected, as it lies on the device.
  std::vector<std::byte> BytesOf(size_t array) const {
    const replay::CaseSlice& slice = question_.kernels.results[array];
    std::vector<std::byte> bytes(slice.bytes);
    if (!replay::pjrt::ToDeviceBytes(expected_[array], question_.results[array], false,
                                     bytes.data()))
      return {};
    return bytes;
  }

  static SignatureMatch MatchOf(const ValueSignatures& signatures,
                                const replay::StudiedStep& step) {
    for (const auto& [bits, bytes] : step.carries) {
      SignatureMatch match = signatures.FindIn(bits, static_cast<uint32_t>(bytes), step.type);
      if (!match.instruction.empty()) return match;
    }
    return {};
  }

  bool Agrees(const Arrays& arrays, const Arrays& expected, LeafComparison& worst) const {
    for (size_t i = 0; i < arrays.size(); ++i) {
      LeafComparison leaf = Compare(i, arrays[i], expected[i]);
      if (leaf.equal()) continue;
      worst = std::move(leaf);
      return false;
    }
    return true;
  }

  void TrySwitches(const std::vector<replay::SwitchedRun>& runs) {
    std::vector<Arrays> pushed;
    int64_t approximations = 0;
    for (const replay::SwitchedRun& run : runs) {
      const auto which = static_cast<ptx::Switch>(run.which);
      const ptx::SwitchRow& row = ptx::SwitchRows()[run.which];
      const std::string what =
          fmt::format("{} ({})", row.text, Counted(run.instructions, "instruction"));
      auto arrays = run.error.empty() ? ArraysIn(run.memory) : InternalError(run.error);
      if (!arrays.has_value()) {
        tries_->NoteFailure(what, arrays.error());
      } else if (const auto cause = CauseOf(which)) {
        tries_->Note(what, *arrays, expected_, *cause);
        TryPartSums(", " + std::string(row.text), *arrays);
      } else {
        pushed.push_back(*std::move(arrays));
        approximations = run.instructions;
      }
    }
    if (pushed.size() == 2) {
      tries_->NoteApproximations(Counted(approximations, "instruction"), pushed[0], pushed[1]);
    }
  }

  // Partial products mean what they add up to.
  void TryPartSums(const std::string& switched, const Arrays& arrays) {
    if (tries_->cause() || arrays.size() != 1 ||
        !MayBeSplitProduct(*question_.alone, arrays[0].shape()))
      return;
    const ErrorBounds bounds = BoundsFor(arrays[0].shape().element_type(), request_.compare.bounds);
    if (!SameSums(arrays[0], expected_[0], bounds)) return;
    tries_->Add(
        {"partial products added up: how the kernel splits k is unspecified" + switched, true, ""});
    tries_->Close(Cause::kReductionOrder);
  }

  // The reference otherwise: what the kernel is then close to.
  void TryReferences() {
    const CauseTries::Evaluate evaluate = [this](const auto& module, const auto& arguments) {
      return Evaluated(module, arguments);
    };
    tries_->TryReferences(question_.alone, question_.arguments, evaluate);
    if (question_.demand == KernelDemand::kBounds) {
      tries_->TryConditioning(question_.alone, question_.arguments, request_.compare.bounds,
                              evaluate);
    }
  }

  // What the kernel does wrong with memory, whatever it computes.
  void Check() {
    replay::KernelDiagnosis diagnosis = DiagnosisOf();
    diagnosis.checks = true;
    auto answer = Diagnose(diagnosis);
    if (!answer.has_value()) {
      out_.warnings.push_back("the kernel was not checked for races: " + answer.error().ToString());
      return;
    }
    std::vector<replay::RunFinding>& found = out_.finding.checks;
    found = std::move(answer->findings);
    // What a race leaves uninitialised follows from it.
    const auto is_race = [](const replay::RunFinding& each) { return each.kind == "race"; };
    if (std::ranges::any_of(found, is_race)) std::erase_if(found, std::not_fn(is_race));
    constexpr size_t kMaxFindings = 10;
    if (found.size() > kMaxFindings) found.resize(kMaxFindings);
  }

  void Decide() {
    const KernelFinding& finding = out_.finding;
    const bool is_reference_missing =
        finding.reference_checked == 0 && finding.reference_difference.empty();
    if (!finding.reference_agrees && !is_reference_missing) {
      out_.warnings.push_back("the simulated GPU is not a reliable reference for this kernel: " +
                              finding.reference_difference);
    }
    // A fault of the simulated GPU explains nothing about XLA.
    if (!finding.reference_agrees && finding.reference_checked > 0 && IsContradicted()) return;
    if (const auto& closed = tries_->cause()) {
      out_.cause = *closed;
      out_.confirmed = true;
      return;
    }
    const auto has = [&](std::string_view kind) {
      return std::ranges::find(finding.checks, kind, &replay::RunFinding::kind) !=
             finding.checks.end();
    };
    if (has("race") || has("uninitialised")) {
      out_.cause = has("race") ? Cause::kRace : Cause::kUninitialised;
      out_.confirmed = true;
      return;
    }
    // Others are right within the bounds, as this one is.
    if (question_.demand == KernelDemand::kRoundings) return;
    // How often initial values are taken has been tried.
    if (const auto open = OpenMeaningOfKernel(); open && *open != Cause::kInitialValue) {
      out_.cause = *open;
      out_.confirmed = true;
      return;
    }
    if (!finding.reference_agrees || !question_.other_compilations) return;
    for (DivergeTry& attempt : question_.other_compilations()) {
      const bool right = attempt.closes == true;
      out_.tries.push_back(std::move(attempt));
      if (!right) continue;
      out_.cause = Cause::kMiscompile;
      out_.confirmed = true;
      return;
    }
  }

  std::optional<Cause> OpenMeaningOfKernel() const {
    std::vector<hlo::InstructionId> all;
    for (uint32_t i = 0; i < question_.alone->instructions().size(); ++i) all.emplace_back(i);
    return OpenMeaning({question_.alone, question_.arguments}, all, request_, stop_);
  }

  // The second implementation gave something else, and is not merely without the instruction.
  bool IsContradicted() const {
    return !out_.finding.reference_difference.ends_with("is not covered by the scalar reference");
  }

  const KernelQuestion& question_;
  const RunSpec& request_;
  const std::stop_token& stop_;
  static constexpr double kSigmas = 4;

  Arrays expected_, actual_;
  std::optional<RoundingBudget> budget_;
  std::optional<replay::EditTrials> place_;  // of the worst element
  std::optional<CauseTries> tries_;
  KernelExplanation out_;
};

}  // namespace

Result<std::optional<KernelExplanation>> ExplainKernel(const KernelQuestion& question,
                                                       const RunSpec& request,
                                                       const std::stop_token& stop) {
  return Explainer(question, request, stop).Run();
}

}  // namespace hloscope::debug
