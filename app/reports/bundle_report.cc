// Printing what bundles are and what came of replaying them.
#include "app/reports/bundle_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/error_status.h"
#include "app/output.h"
#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/debug/bundle/bounded_text.h"

namespace hloscope::app {
namespace {

void WriteParts(JsonWriter& json, const std::vector<dump::BundlePart>& parts) {
  json.Key("parts").BeginArray();
  for (const dump::BundlePart part : parts) json.Value(dump::FileOf(part));
  json.EndArray();
}

using RedactedCounts = std::vector<std::pair<std::string, int64_t>>;

void WriteRedacted(JsonWriter& json, const RedactedCounts& counts) {
  json.Key("redacted").BeginObject();
  for (const auto& [kind, count] : counts) json.Field(kind, count);
  json.EndObject();
}

std::string RedactedText(const RedactedCounts& counts) {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : counts) {
    kinds.push_back(FormatText("{} × {}", count, kind));
  }
  return kinds.empty() ? "nothing" : Join(kinds, ", ");
}

}  // namespace

std::string BundleMadeJson(const std::string& file, const Result<debug::MadeBundle>& made) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", file);
  if (!made) {
    WriteErrorStatus(json, made.error());
    json.Field("error", made.error().ToString()).EndObject();
    return out + "\n";
  }
  json.Field("bytes", made->bytes.size());
  WriteParts(json, made->parts);
  json.Field("values", ToString(made->manifest.values));
  WriteRedacted(json, made->manifest.redacted);
  json.Field("status", ToString(made->manifest.recorded.status));
  WriteErrorKind(json, debug::ErrorKindOfRecorded(made->manifest.recorded));
  json.Field("replayed", made->manifest.replayed)
      .Field("verdict", made->manifest.sentence)
      .Key("notes")
      .BeginArray();
  for (const std::string& note : made->manifest.notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

std::string BundleMadeJson(const std::string& file, const Result<debug::BundlePlan>& plan) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", file);
  if (!plan) {
    WriteErrorStatus(json, plan.error());
    json.Field("error", plan.error().ToString()).EndObject();
    return out + "\n";
  }
  json.Field("bytes", plan->bytes).Field("packed_bytes", plan->packed_bytes);
  json.Key("parts").BeginArray();
  for (const debug::PlannedPart& part : plan->parts) json.Value(dump::FileOf(part.part));
  json.EndArray().Key("sizes").BeginObject();
  for (const debug::PlannedPart& part : plan->parts) {
    if (part.bytes) json.Field(dump::FileOf(part.part), *part.bytes);
  }
  json.EndObject().Key("of_run").BeginArray();
  for (const debug::PlannedPart& part : plan->parts) {
    if (part.of_run) json.Value(dump::FileOf(part.part));
  }
  json.EndArray();
  WriteRedacted(json, plan->redacted);
  json.Key("notes").BeginArray();
  for (const std::string& note : plan->notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

std::string BundleMadeText(const std::string& file, const debug::BundlePlan& plan) {
  std::string out = FormatText("{} would have {}:\n", file, Counted(plan.parts.size(), "part"));
  for (const debug::PlannedPart& part : plan.parts) {
    const std::string size = part.bytes ? BytesText(*part.bytes) : "?";
    out += FormatText("    {:<24} {:>9}  {}{}\n", dump::FileOf(part.part), size,
                      dump::Describe(part.part), part.of_run ? ", if the run produces them" : "");
  }
  out += FormatText(
      "  {} without the parts marked ?, whose sizes are known after the run; {} "
      "compressed\n",
      BytesText(plan.bytes), BytesText(plan.packed_bytes));
  out += FormatText("  redacted in them: {}\n", RedactedText(plan.redacted));
  for (const std::string& note : plan.notes) out += FormatText("  note: {}\n", note);
  return out;
}

std::string WithBundleJson(std::string line, const std::string& file,
                           const Result<debug::MadeBundle>& made) {
  line.resize(line.rfind('}'));
  std::string bundle = BundleMadeJson(file, made);
  bundle.pop_back();
  return line + ",\"bundle\":" + bundle + "}\n";
}

std::string BundleMadeText(const std::string& file, const debug::MadeBundle& made) {
  const debug::BundleManifest& manifest = made.manifest;
  std::string out =
      FormatText("{}: {} in {}\n  {}\n", file, BytesText(static_cast<int64_t>(made.bytes.size())),
                 Counted(made.parts.size(), "part"), OwnLines(MessageLines(manifest.sentence)));
  for (const dump::BundlePart part : made.parts) {
    out += FormatText("    {:<24} {}\n", dump::FileOf(part), dump::Describe(part));
  }
  out += FormatText("  values: {}; redacted: {}\n", ToString(manifest.values),
                    RedactedText(manifest.redacted));
  out += FormatText("  replayed in a clean process: {}\n", OwnLines(MessageLines(manifest.replay)));
  for (const std::string& note : manifest.notes) out += FormatText("  note: {}\n", note);
  if (manifest.replayed == "cannot" && manifest.values != debug::ValuePolicy::kAll) {
    out += "  --values all includes the values, so that others can replay it\n";
  }
  return out;
}

std::string BundleCheckJson(const std::string& file, const debug::BundleCheck& check) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", file).Field("status", ToString(check.status));
  json.Key("missing").BeginArray();
  for (const std::string& missing : check.missing) json.Value(missing);
  json.EndArray().Key("refused").BeginArray();
  for (const std::string& refused : check.refused) json.Value(refused);
  json.EndArray().Field("verdict", check.verdict);
  if (check.reduced) json.Field("reduced", ToString(*check.reduced));
  if (check.stages) json.Field("stages", ToString(*check.stages));
  json.Key("notes").BeginArray();
  for (const std::string& note : check.notes) json.Value(note);
  json.EndArray().EndObject();
  return out + "\n";
}

std::string BundleCheckText(const std::string& file, const debug::BundleCheck& check) {
  std::string out = FormatText("{}: {}\n", file, OwnLines(MessageLines(check.verdict)));
  for (const std::string& missing : check.missing) {
    if (!check.verdict.contains(missing)) out += FormatText("  missing: {}\n", missing);
  }
  if (check.status != debug::CheckStatus::kReproduced) return out;
  for (const std::string& note : check.notes) out += FormatText("  note: {}\n", note);
  return out;
}

std::string BundleText(const dump::BundleFile& bundle, const debug::BundleManifest& manifest) {
  std::string out = FormatText("{}: a bug bundle of {}, format version {}\n  {}\n", bundle.path(),
                               debug::BoundedText(manifest.tool), bundle.version(),
                               OwnLines(MessageLines(debug::BoundedText(manifest.sentence))));
  out +=
      FormatText("  run with: {}\n", debug::BoundedText(debug::RunOptionsText(manifest.request)));
  out += FormatText("  values: {}; redacted: {}\n  parts:", ToString(manifest.values),
                    debug::BoundedText(RedactedText(manifest.redacted)));
  for (const dump::BundlePart part : bundle.Parts()) {
    out += FormatText(" {}", std::string(dump::FileOf(part)));
  }
  return out + "\n";
}

void WriteBundleJson(JsonWriter& json, const dump::BundleFile& bundle,
                     const debug::BundleManifest& manifest) {
  json.BeginObject()
      .Field("version", bundle.version())
      .Field("hloscope", manifest.tool)
      .Field("platform", manifest.request.test.name)
      .Field("reference", manifest.request.reference.name)
      .Field("options", debug::RunOptionsText(manifest.request))
      .Field("status", ToString(manifest.recorded.status));
  WriteErrorKind(json, debug::ErrorKindOfRecorded(manifest.recorded));
  json.Field("values", ToString(manifest.values))
      .Field("verdict", manifest.sentence)
      .Field("replayed", manifest.replayed);
  WriteRedacted(json, manifest.redacted);
  WriteParts(json, bundle.Parts());
  json.EndObject();
}

}  // namespace hloscope::app
