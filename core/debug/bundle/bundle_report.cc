// What a bundle's report says.
#include "core/debug/bundle/bundle_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/counted.h"
#include "core/base/parse_json.h"
#include "core/debug/bundle/check_stages.h"
#include "core/debug/bundle/report_values.h"
#include "core/hlo/index_text.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using Json = nlohmann::json;

// A module is short enough to be read in the report.
constexpr size_t kMaxModuleBytes = 20'000;
constexpr std::ptrdiff_t kMaxModuleLines = 200;

bool IsShort(std::string_view text) {
  return text.size() <= kMaxModuleBytes && std::ranges::count(text, '\n') <= kMaxModuleLines;
}

std::string FallbackText(const replay::RunFallback& fallback) {
  std::string text =
      fmt::format("{} ({}): {}", fallback.instruction, fallback.opcode, fallback.reason);
  if (fallback.bytes_moved > 0) text += ", " + fmt::format("{} B moved", fallback.bytes_moved);
  return fallback.detail.empty() ? text : text + ", " + fallback.detail;
}

bool Has(const ReportFacts& facts, dump::BundlePart part) {
  return std::ranges::find(facts.parts, part) != facts.parts.end();
}

std::string WithExpected(const std::string& reference) {
  return fmt::format("{} and {}", reference, SideName(kExpectedSide));
}

std::string ComparedWith(const ReportFacts& facts) {
  const BundleManifest& manifest = facts.manifest;
  if (Has(facts, dump::BundlePart::kOther)) return "the results of other.hlo on the same inputs";
  const std::string& reference = manifest.request.reference.name;
  if (!manifest.recorded.against_expected) return reference;
  return reference.empty() ? "expected results" : WithExpected(reference);
}

ReportSection FactsSection(const ReportFacts& facts) {
  const BundleManifest& manifest = facts.manifest;
  ReportSection section{.heading = "Where it happens"};
  const auto add = [&](std::string what, std::string value) {
    if (!value.empty()) section.rows.push_back({std::move(what), std::move(value)});
  };
  add("Platform", manifest.request.test.name);
  add("Compared with", ComparedWith(facts));
  add("Plugin", fmt::format("{}", fmt::join(manifest.plugins, ", ")));
  add("Module",
      fmt::format("{}, {}", manifest.module, Counted(manifest.instructions, "instruction")));
  add("Stage", manifest.stage);
  add("Framework", manifest.framework_version.empty()
                       ? manifest.framework
                       : fmt::format("{} {}", manifest.framework, manifest.framework_version));
  add("XLA", manifest.xla_version);
  add("Compiled for", manifest.target);
  add("Processor", facts.machine.processor);
  add("CPU features", fmt::format("{}", fmt::join(manifest.cpu_features, " ")));
  add("CPUs", fmt::format("{}", facts.machine.cpus));
  add("System", facts.machine.system);
  add("Replayed in a clean process", manifest.replay);
  add("hloscope", manifest.tool);
  return section;
}

ReportSection ComparisonSection(const ReportFacts& facts) {
  ReportSection section{.heading = "Results"};
  section.head = {
      "result", "shape",          "elements", "differ", "largest abs. error", "largest rel. error",
      "ULP",    "NaN on one side"};
  const bool with_values = facts.manifest.values >= ValuePolicy::kStatistics;
  if (with_values) section.head.emplace_back("first difference");
  const auto error = [&](double value) {
    return fmt::format("{:.3g}", with_values ? value : Magnitude(value));
  };
  const auto ulp = [&](uint64_t value) {
    return with_values ? fmt::format("{}", value)
                       : fmt::format("{:.3g}", Magnitude(static_cast<double>(value)));
  };
  // `why_not`: what is said where it was not compared.
  const auto add = [&](const LeafComparison& leaf, std::string_view against,
                       std::string_view why_not) {
    std::vector<std::string> row = {
        hlo::ShapeIndexText(leaf.index) +
            (against.empty() ? "" : fmt::format(" against {}", SideName(against))),
        hlo::ToString(leaf.shape, false)};
    if (!why_not.empty()) {
      row.emplace_back(why_not);
    } else {
      const std::string first =
          leaf.first_mismatch
              ? fmt::format("{}: {}, expected {}", hlo::ArrayIndexText(leaf.first_mismatch->index),
                            leaf.first_mismatch->actual, leaf.first_mismatch->expected)
              : "";
      for (const auto& cell : {fmt::format("{}", leaf.elements), fmt::format("{}", leaf.mismatched),
                               error(leaf.max_abs_error), error(leaf.max_rel_error),
                               ulp(leaf.max_ulp), fmt::format("{}", leaf.nan_mismatched)}) {
        row.push_back(cell);
      }
      if (with_values) row.push_back(first);
    }
    row.resize(section.head.size());
    section.rows.push_back(std::move(row));
  };
  for (const RunOutput& output : facts.report.outputs) {
    add(output.comparison, output.against,
        output.missing    ? "no value"
        : output.compared ? ""
                          : "not compared");
    const std::string_view other = OtherSide(output, facts.report.reference);
    if (output.other) {
      add(*output.other, other, "");
    } else if (!output.against.empty() && !output.not_compared.empty()) {
      add(output.comparison, other, "not compared");
    }
  }
  for (const replay::RunFallback& fallback : facts.report.fallbacks) {
    section.paragraphs.push_back("Fallback: " + FallbackText(fallback));
  }
  return section;
}

std::string TextOf(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// What `diverge` found and tried.
std::vector<ReportSection> VerdictSections(const std::string& verdict_json) {
  const Json verdict = ParseJson(verdict_json).value_or(nullptr);
  if (!verdict.is_object()) return {};
  ReportSection found{.heading = "Cause"};
  for (const std::string_view key : {"verdict", "pass", "cause", "instruction", "computation",
                                     "kernel", "cured_by", "confirmed", "first_bad"}) {
    const std::string text = TextOf(verdict, key);
    if (!text.empty() && text != "[]") found.rows.push_back({std::string(key), text});
  }
  std::vector<ReportSection> sections = {std::move(found)};
  const auto tries = verdict.find("tries");
  if (tries == verdict.end() || !tries->is_array() || tries->empty()) return sections;
  ReportSection tried{.heading = "What was tried", .head = {"try", "fixes it", "detail"}};
  for (const Json& entry : *tries) {
    if (!entry.is_object()) continue;
    tried.rows.push_back({TextOf(entry, "what"), TextOf(entry, "closes"), TextOf(entry, "detail")});
  }
  sections.push_back(std::move(tried));
  return sections;
}

std::string Milliseconds(const Json& entry, std::string_view key) {
  const auto ns = entry.find(key);
  if (ns == entry.end() || !ns->is_number()) return "";
  return fmt::format("{:.3f} ms", ns->get<double>() / 1e6);
}

// The instructions that take the most time in the profile; without rows: there is none.
ReportSection TimeSection(const std::string& profile_json) {
  constexpr size_t kMost = 12;
  ReportSection section{.heading = "Where the time goes",
                        .head = {"instruction", "opcode", "runs", "time", "median", "share"}};
  const Json profile = ParseJson(profile_json).value_or(nullptr);
  if (!profile.is_object()) return section;
  const auto found = profile.find("instructions");
  if (found == profile.end() || !found->is_array()) return section;
  for (const Json& entry : *found) {
    if (!entry.is_object()) continue;
    if (section.rows.size() == kMost) {
      section.paragraphs.push_back(
          fmt::format("{} more in {}.", found->size() - kMost, FileOf(dump::BundlePart::kProfile)));
      break;
    }
    const auto share = entry.find("share");
    section.rows.push_back({TextOf(entry, "instruction"), TextOf(entry, "opcode"),
                            TextOf(entry, "count"), Milliseconds(entry, "self_ns"),
                            Milliseconds(entry, "median_ns"),
                            share != entry.end() && share->is_number()
                                ? fmt::format("{:.1f} %", 100 * share->get<double>())
                                : ""});
  }
  return section;
}

// run_hlo_module's name of a platform; empty: it has none.
std::string XlaPlatform(const std::string& platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  if (row == nullptr || !row->Has(replay::kNeedsPlugin)) return "";
  return row->devices == replay::Devices::kGpu ? "CUDA" : "CPU";
}

ReportSection ReplaySection(const ReportFacts& facts) {
  const BundleManifest& manifest = facts.manifest;
  ReportSection section{.heading = "How to replay it", .code_language = "sh"};
  const auto has = [&](dump::BundlePart part) { return Has(facts, part); };
  // Kernels run out of their dump.
  const bool of_dump = has(dump::BundlePart::kDump);
  std::string run = of_dump ? "mkdir dump && unzip -q dump.zip -d dump\nhloscope run "
                              "dump/*_after_optimizations.txt"
                            : "hloscope run module.hlo";
  if (const std::string options = RunOptionsText(manifest.request); !options.empty()) {
    run += " " + options;
  }
  if (has(dump::BundlePart::kInputs)) run += " --inputs inputs.npz";
  if (has(dump::BundlePart::kInfeed)) run += " --infeed infeed.npz";
  if (has(dump::BundlePart::kOther)) {
    run.replace(0, std::string_view("hloscope run module.hlo").size(),
                "hloscope diverge module.hlo other.hlo");
  } else if (has(dump::BundlePart::kExpected)) {
    run += " --expect expected.npz";
  }
  section.code = fmt::format(
      "# with hloscope\nhloscope bundle check {0}\nhloscope bundle open {0} --into bundle && cd "
      "bundle\n{1}\n",
      facts.out_name, run);
  if (has(dump::BundlePart::kAfterPass)) {
    const bool inputs = has(dump::BundlePart::kInputs), infeed = has(dump::BundlePart::kInfeed);
    if (const std::string missing = MissingOfStages(manifest, inputs, infeed); !missing.empty())
      section.code += fmt::format("# add {}\n", missing);
    section.code += StagesCommand(manifest, inputs, infeed) + "\n";
  }
  if (has(dump::BundlePart::kReduced)) {
    std::string small = "hloscope run reduced.hlo";
    if (const std::string options = RunOptionsText(manifest.request); !options.empty()) {
      small += " " + options;
    }
    if (has(dump::BundlePart::kReducedInputs)) small += " --inputs reduced_inputs.npz";
    section.code += fmt::format("# the smaller module\n{}\n", small);
  }
  if (manifest.recorded.constants_left_out) {
    section.paragraphs.emplace_back(
        "The values of constants that --constants gave are not in the bundle, and the run needs "
        "them: add --constants F.npz to the commands of hloscope.");
  }
  const std::string platform = XlaPlatform(manifest.request.test.name);
  if (platform.empty()) return section;
  std::string flags;
  for (const auto& [name, value] : manifest.request.test.xla_flags) {
    flags += fmt::format("{}--{}={}", flags.empty() ? "" : " ", name, value);
  }
  const bool with_inputs = has(dump::BundlePart::kInputLiterals);
  section.code += fmt::format(
      "# without it: a zip file; XLA's own tool reads the module{}\nunzip {} -d bundle && cd "
      "bundle\n{}bazel run //xla/tools:run_hlo_module -- --platform={} "
      "--reference_platform=interpreter --input_format=hlo {}$PWD/module.hlo\n",
      with_inputs ? " and its inputs" : "", facts.out_name,
      flags.empty() ? "" : "XLA_FLAGS='" + flags + "' ", platform,
      with_inputs
          ? fmt::format("--input_literals_file=$PWD/{} ", FileOf(dump::BundlePart::kInputLiterals))
          : "");
  if (!with_inputs) {
    section.paragraphs.emplace_back(
        has(dump::BundlePart::kInputs)
            ? "run_hlo_module generates its own inputs; where the difference depends on the "
              "values, use those of inputs.npz."
            : "run_hlo_module generates its own inputs: the difference may depend on the values, "
              "which are not in the bundle.");
  }
  return section;
}

ReportSection ContentSection(const ReportFacts& facts) {
  ReportSection section{.heading = "What is in the bundle"};
  for (const dump::BundlePart part : facts.parts) {
    section.rows.push_back({std::string(dump::FileOf(part)), std::string(dump::Describe(part))});
  }
  std::vector<std::string> redacted;
  for (const auto& [kind, count] : facts.manifest.redacted) {
    redacted.push_back(fmt::format("{} × {}", count, kind));
  }
  section.paragraphs.push_back(fmt::format("Values: {}.", ToString(facts.manifest.values)));
  section.paragraphs.push_back(redacted.empty()
                                   ? "Nothing had to be redacted."
                                   : fmt::format("Redacted: {}.", fmt::join(redacted, ", ")));
  for (const std::string& note : facts.manifest.notes) section.paragraphs.push_back(note);
  return section;
}

ReportSection ModuleSection(const ReportFacts& facts) {
  const bool reduced = !facts.reduced_text.empty();
  const std::string& text = reduced ? facts.reduced_text : facts.module_text;
  ReportSection section{.heading = reduced ? "The module, reduced" : "The module",
                        .code_language = "hlo"};
  if (IsShort(text)) {
    section.code = text;
  } else {
    section.paragraphs.push_back(fmt::format("{} has {} lines; it is in the bundle.",
                                             reduced ? "reduced.hlo" : "module.hlo",
                                             std::ranges::count(text, '\n')));
  }
  return section;
}

}  // namespace

std::string AgainstPhrase(const BundleManifest& manifest, const RunReport& report) {
  const std::string& reference = manifest.request.reference.name;
  if (reference.empty()) return {};
  bool by_reference = false, by_expected = false;
  for (const RunOutput& output : report.outputs) {
    if (!output.compared || output.comparison.equal()) continue;
    (output.against == kExpectedSide ? by_expected : by_reference) = true;
  }
  const bool both = manifest.recorded.against_expected && by_reference == by_expected;
  if (both) return " against " + WithExpected(reference);
  return fmt::format(" against {}", by_expected ? SideName(kExpectedSide) : reference);
}

ReportDocument MakeReport(const ReportFacts& facts) {
  const BundleManifest& manifest = facts.manifest;
  ReportDocument document;
  const std::string against = AgainstPhrase(manifest, facts.report);
  document.title = fmt::format("{}: {} on {}{}", manifest.module,
                               manifest.recorded.failure ? ToString(manifest.recorded.failure->kind)
                                                         : ToString(manifest.recorded.status),
                               manifest.request.test.name, against);
  document.lead = manifest.sentence;
  if (!facts.note.empty()) {
    document.sections.push_back({.heading = "Note", .paragraphs = {facts.note}});
  }
  document.sections.push_back(FactsSection(facts));
  if (!facts.report.outputs.empty()) document.sections.push_back(ComparisonSection(facts));
  for (ReportSection& section : VerdictSections(facts.verdict_json)) {
    document.sections.push_back(std::move(section));
  }
  if (ReportSection times = TimeSection(facts.profile_json); !times.rows.empty())
    document.sections.push_back(std::move(times));
  document.sections.push_back(ReplaySection(facts));
  document.sections.push_back(ModuleSection(facts));
  document.sections.push_back(ContentSection(facts));
  return document;
}

}  // namespace hloscope::debug
