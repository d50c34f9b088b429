#include "core/debug/run/output_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/analysis/denormals.h"
#include "core/debug/compare/compare_bits.h"
#include "core/hlo/shape/infer.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

void OutputJudge::AddPreciseSide(RunOutput& output, size_t leaf, const std::string& side,
                                 const Literal& value) {
  if (leaf >= precise_.size() || !precise_[leaf].has_value()) return;
  if (!hlo::SameDimensions(value.shape(), precise_[leaf]->shape())) {
    report_.warnings.push_back(fmt::format(
        "out{}: devices that agree on one side do not on the other: {} has no distance from the "
        "precise value",
        leaf, side));
    return;
  }
  output.precise.push_back({side, DistanceToPrecise(value, *precise_[leaf])});
}

void OutputJudge::AddPreciseSides(std::vector<RunOutput>& outputs, const std::string& side,
                                  const Leaves& values) {
  for (size_t i = 0; i < std::min(outputs.size(), values.size()); ++i) {
    if (values[i].has_value()) AddPreciseSide(outputs[i], i, side, *values[i]);
  }
}

void OutputJudge::AddPreciseSides(std::vector<RunOutput>& outputs, const std::string& platform) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].missing) AddPreciseSide(outputs[i], i, platform, outputs[i].value);
  }
}

void OutputJudge::Keep(std::vector<RunOutput> outputs) {
  if (report_.outputs.empty()) {
    report_.outputs = std::move(outputs);
    return;
  }
  for (size_t i = 0; i < std::min(outputs.size(), report_.outputs.size()); ++i) {
    RunOutput& kept = report_.outputs[i];
    if (!outputs[i].compared || (kept.compared && !kept.comparison.equal())) continue;
    if (kept.compared && outputs[i].comparison.equal()) continue;
    // Of later iterations there may be no expected values: what was compared with them stays.
    if (!outputs[i].other && outputs[i].against != kExpectedSide) {
      if (kept.against == kExpectedSide) kept.other = std::move(kept.comparison);
    } else {
      kept.other = std::move(outputs[i].other);
    }
    kept.comparison = std::move(outputs[i].comparison);
    kept.against = std::move(outputs[i].against);
    kept.precise = std::move(outputs[i].precise);
    kept.iteration = outputs[i].iteration;
    kept.compared = true;
  }
}

std::optional<LeafComparison> OutputJudge::FirstDifference(const Leaves& actual,
                                                           const Leaves& expected) const {
  const auto shapes = module_.shape(module_.entry().root).Leaves();
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (!actual[i].has_value() || !expected[i].has_value()) continue;
    LeafComparison comparison = spec_.compare.same_bits
                                    ? CompareBits(*actual[i], *expected[i])
                                    : CompareArrays(*actual[i], *expected[i], BoundsOf(i));
    if (comparison.equal()) continue;
    if (i < shapes.size()) comparison.index = shapes[i].first;
    return comparison;
  }
  return std::nullopt;
}

std::vector<RunOutput> OutputJudge::OutputsOf(Leaves results, int64_t iteration) {
  const Shape& root = module_.shape(module_.entry().root);
  const auto shapes = root.Leaves();
  differing_.clear();
  std::vector<RunOutput> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    RunOutput output;
    output.iteration = iteration;
    if (i < shapes.size()) {
      output.comparison.index = shapes[i].first;
      output.comparison.shape = *shapes[i].second;
      output.comparison.elements = shapes[i].second->ElementCount().value_or(0);
    }
    if (results[i].has_value()) {
      output.value = *std::move(results[i]);
      if (placement_.lists() > 1) {
        output.comparison.shape = output.value.shape();
        output.comparison.elements = output.value.shape().ElementCount().value_or(0);
      }
      if (spec_.inputs.flush_denormals) output.value = analysis::FlushDenormals(output.value);
    } else {
      output.missing = std::move(results[i]).error();
      if (!report_.error) report_.error = output.missing;
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

BoundsRequest OutputJudge::BoundsOf(size_t leaf) const {
  return single_.Of(module_.entry().root, leaf) ? BoundsOfSingle(spec_.compare.bounds)
                                                : spec_.compare.bounds;
}

void OutputJudge::Compare(std::vector<RunOutput>& outputs, size_t leaf, const Literal& expected) {
  RunOutput& output = outputs[leaf];
  LeafComparison comparison = CompareArrays(
      output.value, spec_.inputs.flush_denormals ? analysis::FlushDenormals(expected) : expected,
      BoundsOf(leaf));
  comparison.index = std::move(output.comparison.index);
  output.comparison = std::move(comparison);
  output.compared = true;
  if (spec_.compare.hints && !output.comparison.equal()) differing_.push_back({leaf, expected});
}

void OutputJudge::CompareWithExpected(std::vector<RunOutput>& outputs, size_t leaf,
                                      const Literal& expected) {
  RunOutput& output = outputs[leaf];
  std::optional<LeafComparison> other;
  if (output.compared) other = output.comparison;
  Compare(outputs, leaf, expected);
  if (!spec_.reference.name.empty()) output.against = kExpectedSide;
  if (!other) return;
  if (output.comparison.equal() && !other->equal()) {
    std::swap(output.comparison, *other);
    output.against = spec_.reference.name;
  }
  output.other = std::move(other);
}

bool OutputJudge::AgreeFlushed(const Leaves& results) const {
  return std::ranges::all_of(differing_, [&](const Differing& one) {
    if (one.leaf >= results.size() || !results[one.leaf].has_value()) return false;
    return CompareArrays(analysis::FlushDenormals(*results[one.leaf]),
                         analysis::FlushDenormals(one.expected), BoundsOf(one.leaf))
        .equal();
  });
}

void OutputJudge::CompareWith(const Leaves& reference, std::vector<RunOutput>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < reference.size() && reference[i].has_value()) {
      if (outputs[i].missing) continue;
      Compare(outputs, i, *reference[i]);
      if (!spec_.compare.expect.empty()) outputs[i].against = spec_.reference.name;
      continue;
    }
    const Error missing =
        i < reference.size() ? reference[i].error() : InternalError("a result is missing").error();
    if (!report_.error) report_.error = missing;
    report_.warnings.push_back(
        fmt::format("out{} is not compared: the reference has no value of "
                    "it: {}",
                    i, missing.ToString()));
  }
}

void OutputJudge::CompareWithRecorded(const Literal& recorded, std::vector<RunOutput>& outputs) {
  const std::vector<Literal> leaves = dump::FlattenLiteral(recorded);
  if (leaves.size() != outputs.size()) {
    report_.warnings.push_back(
        fmt::format("the recorded result has {} leaves, the module {}: not compared", leaves.size(),
                    outputs.size()));
    return;
  }
  report_.against_recorded = true;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!outputs[i].missing) Compare(outputs, i, leaves[i]);
  }
}

Status OutputJudge::CompareWithFiles(const dump::TensorFiles& files,
                                     std::vector<RunOutput>& outputs) {
  int64_t found = 0, arrays = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    RunOutput& output = outputs[i];
    if (!output.comparison.shape.IsArray()) continue;
    const Result<std::optional<Literal>> expected =
        files.Output(static_cast<int64_t>(i), arrays++, output.comparison.shape);
    if (expected && !*expected) {
      output.not_compared = "it is not among the expected values";
      report_.warnings.push_back(fmt::format(
          "out{} is not among the expected values: {}", i,
          output.compared ? "compared with " + spec_.reference.name + " alone" : "not compared"));
      continue;
    }
    ++found;
    if (!expected) {
      // The others are compared all the same.
      output.not_compared = expected.error().message;
      if (!report_.error) report_.error = expected.error();
      continue;
    }
    if (output.missing) continue;
    CompareWithExpected(outputs, i, **expected);
    if (spec_.compare.precise) AddPreciseSide(output, i, std::string(kExpectedSide), **expected);
  }
  if (found == 0 && arrays != 0) {
    return InputError(
        "none of the outputs is among the expected values",
        fmt::format("{}; name them out0, out1 … (or output_0 …, arr_0 …)", files.Contents()));
  }
  return {};
}

std::string_view OtherSide(const RunOutput& output, std::string_view reference) {
  return output.against == kExpectedSide ? reference : kExpectedSide;
}

const LeafComparison* WithReference(const RunOutput& output, std::string_view reference) {
  if (reference.empty() || !output.compared) return nullptr;
  if (output.against != kExpectedSide) return &output.comparison;
  return output.other ? &*output.other : nullptr;
}

std::string_view SideName(std::string_view side) {
  return side == kExpectedSide ? "the expected values" : side;
}

}  // namespace hloscope::debug
