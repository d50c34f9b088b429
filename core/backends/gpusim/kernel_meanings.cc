// KernelMeanings: the evaluator beside each kernel, and how far they are apart.
#include "core/backends/gpusim/kernel_meanings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "core/base/byte_archive.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::replay {

using runtime::Value;

template <typename A>
void Archive(A& archive, Archived<A, KernelMeaning>& value) {
  archive(value.instruction, value.computation, value.opcode, value.source, value.kernels,
          value.path, value.device, value.execution, value.run_us);
}

namespace {

constexpr int64_t kBlock = 1024;

// The largest difference of two elements, beside 1 and the size of the second; infinite where one
// of them is a NaN, or there is no such value.
double Distance(const hlo::Literal& actual, const hlo::Literal& meant) {
  if (std::ranges::equal(actual.bytes(), meant.bytes())) return 0;
  const hlo::ElementType type = meant.shape().element_type();
  const int64_t width = hlo::StorageBytes(type);
  const int64_t count = width == 0 ? 0 : std::ssize(meant.bytes()) / width;
  if (actual.bytes().size() != meant.bytes().size()) return std::numeric_limits<double>::infinity();
  std::vector<eval::Complex> a(kBlock), m(kBlock);
  double most = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    eval::LoadAs(type, actual.bytes().data() + begin * width, a.data(), n);
    eval::LoadAs(type, meant.bytes().data() + begin * width, m.data(), n);
    for (size_t i = 0; std::cmp_less(i, n); ++i) {
      if (a[i] == m[i]) continue;
      const double off = std::abs(a[i] - m[i]) / (1 + std::abs(m[i]));
      if (std::isnan(off)) return std::numeric_limits<double>::infinity();
      most = std::max(most, off);
    }
  }
  return most;
}

double Distance(const Value& actual, const Value& meant) {
  if (actual.is_tuple() && meant.is_tuple() &&
      actual.elements().size() == meant.elements().size()) {
    double most = 0;
    for (size_t i = 0; i < meant.elements().size(); ++i) {
      most = std::max(most, Distance(actual.elements()[i], meant.elements()[i]));
    }
    return most;
  }
  if (actual.is_array() && meant.is_array()) return Distance(actual.literal(), meant.literal());
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<KernelMeaning> ReadKernelMeaning(const SearchFinding& finding) {
  if (finding.name != kKernelMeaningsSearch || finding.values.size() != 2) return std::nullopt;
  KernelMeaning meaning;
  ByteReader in(std::as_bytes(std::span(finding.fields)));
  in(meaning);
  if (!in.ok() || !in.empty()) return std::nullopt;
  meaning.actual = finding.values[0];
  meaning.meant = finding.values[1];
  return meaning;
}

Status KernelMeanings::OnStep(const StepValues& values) {
  const hlo::InstructionId id = values.site.instruction;
  std::vector<Value> operands(values.operands.begin(), values.operands.end());
  auto meant = values.machine.EvaluateInstruction(id, operands);
  if (!meant.has_value() && meant.error().error_class != ErrorClass::kUnsupported) {
    return std::unexpected(std::move(meant).error());
  }
  if (!meant.has_value()) meant = Value::Missing(std::move(meant).error());
  Seen& seen = seen_[{values.site.device, id}];
  const int64_t execution = seen.executions++;
  const double distance = Distance(values.result, *meant);
  if (distance <= seen.distance * 2) return {};
  seen.distance = distance;
  KernelMeaning meaning;
  meaning.instruction = module_.name(id);
  meaning.computation = module_[module_[module_[id].computation].name];
  meaning.opcode = hlo::ToString(module_[id].opcode);
  meaning.source = ToString(hlo::SourceLineOf(module_, id));
  for (const KernelLaunch& launch : values.step.launches) {
    meaning.kernels += (meaning.kernels.empty() ? "" : ", ") + launch.kernel;
  }
  meaning.path = PathOf(values.site.frames);
  meaning.device = values.site.device;
  meaning.execution = execution;
  meaning.run_us = static_cast<double>(values.duration_ns) / 1e3;
  ByteWriter fields;
  fields(meaning);
  stream_.Take(SearchFinding{
      std::string(kKernelMeaningsSearch), std::move(fields).Take(), {values.result, *meant}});
  return {};
}

std::string KernelMeanings::PathOf(std::span<const runtime::Frame> frames) const {
  std::string path;
  for (const runtime::Frame& frame : frames) {
    path += path.empty() ? "" : ", ";
    path += module_.name(frame.caller);
    if (module_[frame.caller].opcode != hlo::Opcode::kWhile) continue;
    path += fmt::format(" #{}", frame.iteration);
  }
  return path;
}

}  // namespace hloscope::replay
