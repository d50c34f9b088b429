// Values of a run as files, statistics and hashes.
#include "core/debug/bundle/bundle_values.h"

#include <fmt/format.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/dump/tensors/named_values.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/proto/proto.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {
namespace {

using dump::BundlePart;
using hlo::Literal;
using NamedArrays = std::vector<std::pair<std::string, Literal>>;

std::string_view BytesOf(const Literal& leaf) {
  return {reinterpret_cast<const char*>(leaf.bytes().data()), leaf.bytes().size()};
}

void WriteStatistics(JsonWriter& json, const Literal& leaf) {
  const auto form = replay::FormOf(leaf, replay::CaptureForm::kStatistics);
  if (const auto* numbers = std::get_if<replay::ValueStatistics>(&form)) {
    json.Field("elements", numbers->elements)
        .Field("min", numbers->low)
        .Field("max", numbers->high)
        .Field("mean", numbers->mean)
        .Field("rms", numbers->rms)
        .Field("nans", numbers->nans)
        .Field("infinities", numbers->infinities)
        .Field("zeros", numbers->zeros);
  }
  json.Field("hash", dump::BundleHash(BytesOf(leaf)));
}

std::string FactsJson(const NamedArrays& arrays, ValuePolicy policy) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  for (const auto& [name, array] : arrays) {
    json.Key(name).BeginObject().Field("shape", hlo::ToString(array.shape(), true));
    if (policy == ValuePolicy::kStatistics && !array.elided()) WriteStatistics(json, array);
    json.EndObject();
  }
  json.EndObject();
  return out + "\n";
}

Result<std::string> Npz(const NamedArrays& arrays) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, array] : arrays) {
    members.emplace_back(name, dump::NpyFromLiteral(array));
  }
  return dump::WriteNpz(members);
}

NamedArrays Numbered(std::span<const Literal> values, std::string_view prefix) {
  NamedArrays arrays;
  size_t number = 0;
  for (const Literal& value : values) {
    for (const Literal& leaf : dump::FlattenLiteral(value)) {
      const size_t own = number++;
      if (leaf.shape().IsArray()) arrays.emplace_back(fmt::format("{}{}", prefix, own), leaf);
    }
  }
  return arrays;
}

NamedArrays ResultsOf(const RunReport& report) {
  NamedArrays arrays;
  for (size_t k = 0; k < report.outputs.size(); ++k) {
    const RunOutput& output = report.outputs[k];
    if (output.missing || !output.value.shape().IsArray()) continue;
    arrays.emplace_back(fmt::format("out{}", k), output.value);
  }
  return arrays;
}

Result<std::string> ReadWhole(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileParts file, FileParts::Open(path, limits));
  return file.Read(0, file.size());
}

// The results that were expected, from files or a snapshot.
Result<NamedArrays> ExpectedOf(const RunReport& report, const RunSpec& request,
                               ValuePolicy policy) {
  if (request.compare.expect.empty()) {
    if (!report.against_recorded || !request.compare.recorded) return NamedArrays();
    return Numbered(std::span(&*request.compare.recorded, 1), "out");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto files, OpenArrays(request.compare.expect, dump::BundlePart::kExpected, request.limits));
  if (policy == ValuePolicy::kShapes) files.ReadHeadersOnly();
  NamedArrays arrays;
  int64_t number = 0;
  for (size_t k = 0; k < report.outputs.size(); ++k) {
    const hlo::Shape& shape = report.outputs[k].comparison.shape;
    if (!shape.IsArray()) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(auto array, files.Output(static_cast<int64_t>(k), number++, shape));
    if (array) arrays.emplace_back(fmt::format("out{}", k), *std::move(array));
  }
  return arrays;
}

Result<NamedArrays> InfeedOf(const RunSpec& request) {
  std::vector<Literal> values;
  for (const std::string& path : request.inputs.infeed) {
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, request.limits));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto named, dump::NamedValuesIn(file, request.limits));
    if (!named) return InputError(path + ": no values for infeeds");
    for (const dump::NamedValue& value : *named) values.push_back(value.value);
  }
  return Numbered(values, "in");
}

class Collection {
 public:
  explicit Collection(ValuePolicy policy) : policy_(policy) {}

  // As arrays or as facts, by the policy; a note where there are no values to be had.
  Status Add(BundlePart arrays, std::optional<BundlePart> facts, Result<NamedArrays> values,
             std::string_view what) {
    if (!values) {
      Note(what, values.error());
      return {};
    }
    if (values->empty()) return {};
    if (policy_ == ValuePolicy::kAll) {
      HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, Npz(*values));
      out_.parts.emplace_back(arrays, std::move(bytes));
    } else if (facts) {
      out_.parts.emplace_back(*facts, FactsJson(*values, policy_));
    }
    return {};
  }
  void Note(std::string_view what, const Error& error) {
    out_.notes.push_back(fmt::format("{} are not in: {}", what, error.ToString()));
  }
  void AddNote(std::string note) { out_.notes.push_back(std::move(note)); }
  void AddFile(BundlePart part, std::string bytes) {
    out_.parts.emplace_back(part, std::move(bytes));
  }

  BundleValues Take() { return std::move(out_); }

 private:
  ValuePolicy policy_;
  BundleValues out_;
};

// The inputs once more, as run_hlo_module reads them.
void AddLiterals(std::span<const Literal> arguments, Collection& out) {
  const int64_t bytes = ValueBytes(arguments);
  if (arguments.empty()) return;
  if (bytes > kMaxLiteralBytes) {
    return out.AddNote(
        fmt::format("inputs are not in as literals of run_hlo_module: {} MB", bytes / 1'000'000));
  }
  hlo::IterationLiterals iteration;
  iteration.arguments.assign(arguments.begin(), arguments.end());
  out.AddFile(BundlePart::kInputLiterals, hlo::RunLiteralsToProto(std::span(&iteration, 1)));
}

}  // namespace

int64_t ValueBytes(std::span<const Literal> values) {
  int64_t bytes = 0;
  for (const Literal& value : values) {
    for (const Literal& leaf : dump::FlattenLiteral(value)) {
      bytes += leaf.shape().ByteSize().value_or(0);
    }
  }
  return bytes;
}

Result<BundleValues> CollectValues(const RunReport& report, const RunSpec& request,
                                   ValuePolicy policy, const PackedInputs& packed_inputs) {
  Collection out(policy);
  if (policy == ValuePolicy::kNone) return out.Take();
  if (policy != ValuePolicy::kAll) {
    HLOSCOPE_TRY(out.Add(BundlePart::kInputs, BundlePart::kInputFacts,
                         Numbered(report.arguments, "in"), "inputs"));
  } else if (packed_inputs.planned) {
    AddLiterals(report.arguments, out);
  } else if (auto saved = ReadWhole(packed_inputs.path, request.limits); saved) {
    out.AddFile(BundlePart::kInputs, *std::move(saved));
    AddLiterals(report.arguments, out);
  } else if (!report.arguments.empty()) {
    out.Note("inputs", saved.error());
  }
  HLOSCOPE_TRY(out.Add(BundlePart::kExpected, BundlePart::kExpectedFacts,
                       ExpectedOf(report, request, policy), "expected results"));
  HLOSCOPE_TRY(
      out.Add(BundlePart::kResults, BundlePart::kResultFacts, ResultsOf(report), "results"));
  HLOSCOPE_TRY(
      out.Add(BundlePart::kInfeed, std::nullopt, InfeedOf(request), "the values of infeeds"));
  return out.Take();
}

Result<BundleValues> CollectReducedInputs(std::span<const Literal> arguments, ValuePolicy policy) {
  Collection out(policy);
  if (policy == ValuePolicy::kNone) return out.Take();
  HLOSCOPE_TRY(out.Add(BundlePart::kReducedInputs, BundlePart::kReducedInputFacts,
                       Numbered(arguments, "in"), "inputs of the reduced module"));
  return out.Take();
}

std::string HashOfValues(std::span<const Literal> values) {
  std::string hashes;
  for (const Literal& value : values) {
    for (const Literal& leaf : dump::FlattenLiteral(value)) {
      hashes += dump::BundleHash(BytesOf(leaf));
    }
  }
  return hashes.empty() ? "" : dump::BundleHash(hashes);
}

}  // namespace hloscope::debug
