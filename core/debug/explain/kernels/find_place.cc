// The byte of the worst element, and the steps of its thread with the values of the instruction.
#include "core/debug/explain/kernels/find_place.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "core/debug/compare/magnitude.h"
#include "core/debug/explain/kernels/rank_lines.h"
#include "core/debug/explain/kernels/value_signatures.h"
#include "core/debug/explain/kernels/wrong_elements.h"

namespace hloscope::debug {

using hlo::Literal;

namespace {

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

SignatureMatch MatchOf(const ValueSignatures& signatures, const replay::StudiedStep& step) {
  for (const auto& [bits, bytes] : step.carries) {
    SignatureMatch match = signatures.FindIn(bits, static_cast<uint32_t>(bytes), step.type);
    if (!match.instruction.empty()) return match;
  }
  return {};
}

void TellSlice(const KernelQuestion& question, const replay::ByteDiagnosis& byte, int64_t element,
               int64_t elements, bool is_not_finite, KernelExplanation& out) {
  auto signatures = ValueSignatures::Make(*question.alone, question.arguments, element, elements);
  if (!signatures.has_value()) {
    out.warnings.push_back("values inside the instruction are not known: " +
                           signatures.error().message);
  }
  out.finding.slice_complete = byte.complete;
  out.finding.slice_shortened = byte.shortened;
  std::vector<bool> is_right;
  for (const replay::StudiedStep& step : byte.steps) {
    KernelLine line{step.kernel, step.thread, step.line,    step.text, step.values,
                    "",          false,       step.control, 0};
    SignatureMatch match;
    if (signatures.has_value()) match = MatchOf(*signatures, step);
    line.instruction = match.instruction;
    line.same_bits = match.same_bits;
    is_right.push_back(match.same_bits && match.at_element);
    out.finding.slice.push_back(std::move(line));
  }
  RankLines(byte.steps, is_right, is_not_finite, out.finding.slice);
}

}  // namespace

Result<std::optional<replay::EditTrials>> FindPlace(const KernelRuns& runs, size_t array,
                                                    const Literal& actual, const Literal& expected,
                                                    KernelExplanation& out) {
  const KernelQuestion& question = runs.question();
  KernelFinding& finding = out.finding;
  const auto& mismatch =
      out.worst.worst_mismatch ? out.worst.worst_mismatch : out.worst.first_mismatch;
  finding.kernel = question.kernels.launches.empty() ? "" : question.kernels.launches[0].kernel;
  finding.result = static_cast<int64_t>(array);
  if (!mismatch) return std::nullopt;
  finding.index = mismatch->index;
  finding.value = mismatch->actual;
  finding.expected = mismatch->expected;
  const hlo::Shape& shape = question.results[array];
  if (hlo::Info(shape.element_type()).bits < 8) {
    out.warnings.push_back("elements narrower than a byte are not traced back");
    return std::nullopt;
  }
  replay::KernelDiagnosis diagnosis = runs.DiagnosisOf();
  diagnosis.byte =
      replay::StudiedByte{array, ByteOf(shape, mismatch->index),
                          WrongElements(actual, expected, shape, runs.request().compare.bounds)};
  diagnosis.reference = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer, runs.Diagnose(diagnosis));
  if (!answer.byte) {
    out.warnings.push_back("no kernel is given the memory of the worst element");
    return std::nullopt;
  }
  const replay::ByteDiagnosis& byte = *answer.byte;
  if (byte.stores == 0) out.warnings.push_back("no thread stored the worst element");
  finding.kernel = question.kernels.launches[byte.launch].kernel;
  finding.file = byte.file;
  finding.block = byte.block;
  finding.thread = byte.thread;
  finding.line = byte.line;
  finding.stores = static_cast<int64_t>(byte.stores);
  const hlo::ElementType type = shape.element_type();
  const ErrorBounds bounds = BoundsFor(type, runs.request().compare.bounds);
  replay::EditTrials place;
  place.launch = byte.launch;
  place.block = byte.block;
  place.result = array;
  place.element = diagnosis.byte->byte / static_cast<uint64_t>(hlo::StorageBytes(type));
  place.type = type;
  place.is_missing = byte.stores == 0;
  place.absolute = bounds.absolute;
  place.relative = bounds.relative;
  if (!byte.trace_error.empty()) out.warnings.push_back(byte.trace_error);
  if (answer.reference) {
    finding.reference_agrees = answer.reference->agrees;
    finding.reference_checked = static_cast<int64_t>(answer.reference->checked);
    finding.reference_difference = answer.reference->difference;
  }
  const int64_t element = RowMajor(shape, mismatch->index);
  const bool is_not_finite =
      !std::isfinite(MagnitudeAt(actual, element)) && std::isfinite(MagnitudeAt(expected, element));
  TellSlice(question, byte, element, shape.ElementCount().value_or(0), is_not_finite, out);
  return place;
}

}  // namespace hloscope::debug
