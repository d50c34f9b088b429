// Printing verdicts.
#include "app/reports/diverge_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/command.h"
#include "app/reports/leaf_report.h"
#include "app/reports/walk_report.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using debug::DivergePlace;
using debug::DivergeTry;
using debug::DivergeVerdict;
using debug::InstructionEdit;
using debug::PassBlame;
using debug::RunStatus;

void OptionalField(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  text.empty() ? json.Null() : json.Value(text);
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

void WritePlace(JsonWriter& json, const std::optional<DivergePlace>& place) {
  OptionalField(json, "instruction", place ? place->instruction : "");
  OptionalField(json, "computation", place ? place->computation : "");
  if (place && !place->calls.empty()) json.Field("calls", place->calls);
}

void WriteEdit(JsonWriter& json, const InstructionEdit& edit) {
  if (edit.what.empty() && edit.before.empty() && edit.after.empty()) return;
  json.Key("edit").BeginObject().Field("what", edit.what);
  OptionalField(json, "before", edit.before);
  OptionalField(json, "after", edit.after);
  json.Field("diff", edit.diff).EndObject();
}

void WriteBlame(JsonWriter& json, const PassBlame& blame) {
  json.BeginObject().Field("pass", blame.pass).Field("pipeline", blame.pipeline);
  json.Field("file_before", blame.file_before).Field("file_after", blame.file_after);
  json.Field("restores", blame.restores);
  WritePlace(json, blame.place);
  WriteEdit(json, blame.edit);
  json.Key("worst").BeginObject();
  WriteLeafJson(json, blame.worst, true);
  json.EndObject().EndObject();
}

void WriteTries(JsonWriter& json, const std::vector<DivergeTry>& tries) {
  json.Key("tries").BeginArray();
  for (const DivergeTry& attempt : tries) {
    json.BeginObject().Field("what", attempt.what).Key("closes");
    attempt.closes ? json.Value(*attempt.closes) : json.Null();
    json.Field("detail", attempt.detail).EndObject();
  }
  json.EndArray();
}

void WriteErrors(JsonWriter& json, const DivergeVerdict& verdict) {
  WriteTexts(json, "warnings", verdict.warnings);
  json.Key("errors").BeginArray();
  for (const Error& error : verdict.errors) json.Value(error.ToString());
  json.EndArray();
  if (!verdict.errors.empty()) json.Field("error", verdict.errors.front().ToString());
}

void WriteFiles(JsonWriter& json, const std::vector<std::string>& files) {
  if (!files.empty()) json.Field("module", files[0]);
  if (files.size() > 1) json.Field("against", files[1]);
}

std::string TryText(const DivergeTry& attempt) {
  const char* const closes = !attempt.closes ? "not run" : *attempt.closes ? "closes it" : "no";
  return fmt::format("    {:<56} {:<10}{}\n", attempt.what, closes, attempt.detail);
}

std::string EditText(const InstructionEdit& edit) {
  std::string out;
  if (!edit.before.empty()) out += fmt::format("  - {}\n", edit.before);
  if (!edit.after.empty()) out += fmt::format("  + {}\n", edit.after);
  return out;
}

std::string PassesText(const DivergeVerdict& verdict) {
  std::string out;
  for (const PassBlame& blame : verdict.passes) {
    out += fmt::format("  {}{}: {}\n    from {}\n    to   {}\n", blame.pass,
                       blame.restores ? " (hides it again)" : "", ErrorPhrase(blame.worst),
                       blame.file_before, blame.file_after);
  }
  return out;
}

// The first few; JSON has them all.
std::string SteppedOverText(const std::vector<std::string>& stages) {
  constexpr size_t kMost = 5;
  std::string out;
  for (size_t i = 0; i < std::min(kMost, stages.size()); ++i) {
    out += "  stepped over " + stages[i] + "\n";
  }
  if (stages.size() > kMost) out += fmt::format("  … and {} more\n", stages.size() - kMost);
  return out;
}

}  // namespace

std::string DivergeReportJson(const std::vector<std::string>& files,
                              const DivergeVerdict& verdict) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  WriteFiles(json, files);
  json.Field("platform", verdict.platform).Field("reference", verdict.reference);
  json.Field("status", debug::ToString(verdict.status)).Field("seed", verdict.seed);
  const PassBlame* const blame = verdict.passes.empty() ? nullptr : &verdict.passes.front();
  OptionalField(json, "pass", blame ? blame->pass : "");
  OptionalField(json, "pipeline", blame ? blame->pipeline : "");
  OptionalField(json, "file_before", blame ? blame->file_before : "");
  OptionalField(json, "file_after", blame ? blame->file_after : "");
  WritePlace(json, verdict.place);
  OptionalField(json, "cause", verdict.cause ? std::string(KeyOf(*verdict.cause)) : "");
  WriteTexts(json, "cured_by", verdict.cured_by);
  json.Key("confirmed");
  verdict.confirmed ? json.Value(*verdict.confirmed) : json.Null();
  OptionalField(json, "kernel", verdict.kernel);
  json.Key("ptx_line");
  verdict.ptx_line ? json.Value(*verdict.ptx_line) : json.Null();
  WriteTries(json, verdict.tries);
  OptionalField(json, "first_bad", verdict.first_bad);
  WriteEdit(json, verdict.edit);
  json.Key("passes").BeginArray();
  for (const PassBlame& each : verdict.passes) WriteBlame(json, each);
  json.EndArray().Field("stages", verdict.stages).Field("evaluated", verdict.evaluated);
  WriteTexts(json, "stepped_over", verdict.stepped_over);
  if (verdict.walk) WriteWalkJson(json.Key("walk"), *verdict.walk);
  if (verdict.worst) {
    json.Key("worst").BeginObject();
    WriteLeafJson(json, *verdict.worst, true);
    json.EndObject();
  }
  WriteErrors(json, verdict);
  json.Field("verdict", verdict.sentence).EndObject();
  return out + "\n";
}

std::string DivergeReportText(const std::vector<std::string>& files,
                              const DivergeVerdict& verdict) {
  std::string out = fmt::format("{}: {}\n", fmt::join(files, " against "), verdict.sentence);
  out += EditText(verdict.edit) + PassesText(verdict) + WalkText(verdict);
  if (!verdict.tries.empty()) out += "  tried:\n";
  for (const DivergeTry& attempt : verdict.tries) out += TryText(attempt);
  if (!verdict.kernel.empty()) out += "  in the compiled module: " + verdict.kernel + "\n";
  if (verdict.stages > 0) {
    out += fmt::format("  {} stages, {} evaluated\n", verdict.stages, verdict.evaluated);
  }
  out += SteppedOverText(verdict.stepped_over);
  for (const std::string& text : verdict.warnings) out += "  warning: " + text + "\n";
  return out;
}

}  // namespace hloscope::app
