// Running one version after the other.
#include "core/debug/explain/diverge/first_bad.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/jaxlib/find_jaxlib.h"

namespace hloscope::debug {
namespace {

// "0.6.2 (/env/bin/python)".
std::string VersionName(const std::string& python) {
  const auto place = replay::ResolveJaxlib({python});
  if (!place.has_value() || place->version.empty()) return python;
  return fmt::format("{} ({})", place->version, python);
}

const LeafComparison* Worst(const RunReport& report) {
  const LeafComparison* worst = nullptr;
  for (const RunOutput& output : report.outputs) {
    if (!output.compared || output.comparison.equal()) continue;
    if (worst == nullptr || output.comparison.max_abs_error > worst->max_abs_error) {
      worst = &output.comparison;
    }
  }
  return worst;
}

DivergeTry TryOf(const std::string& python, const RunReport& report) {
  DivergeTry tried{.what = VersionName(python),
                   .closes = {},
                   .detail = std::string(ToString(report.status)),
                   .is_comparison = true};
  const bool bad = report.status == RunStatus::kDiffers || report.status == RunStatus::kDied;
  if (bad || report.status == RunStatus::kEqual) tried.closes = !bad;
  if (const LeafComparison* worst = Worst(report)) tried.detail += ": " + ErrorPhrase(*worst);
  if (report.error) tried.detail += ": " + report.error->ToString();
  return tried;
}

std::string Sentence(const DivergeVerdict& verdict, size_t versions) {
  const auto bad = std::ranges::find_if(
      verdict.tries, [](const DivergeTry& tried) { return tried.closes == false; });
  if (bad == verdict.tries.end()) {
    const auto good = std::ranges::count(verdict.tries, std::optional(true), &DivergeTry::closes);
    return fmt::format("no version is bad: {} of {} are right, the others cannot run it", good,
                       versions);
  }
  std::string out = fmt::format("{} is the first bad version: {}", bad->what, bad->detail);
  if (bad != verdict.tries.begin() && (bad - 1)->closes == true) {
    out += fmt::format("; {} is right", (bad - 1)->what);
  }
  const auto after = std::find_if(bad, verdict.tries.end(),
                                  [](const DivergeTry& tried) { return tried.closes == true; });
  if (after != verdict.tries.end()) out += fmt::format("; {} is right again", after->what);
  return out;
}

}  // namespace

DivergeVerdict FindFirstBad(const std::shared_ptr<const hlo::Module>& module,
                            const RunSpec& request, const std::vector<std::string>& pythons,
                            const std::stop_token& stop) {
  DivergeVerdict verdict;
  RunSpec one = request;
  if (one.reference.name.empty() && one.compare.expect.empty()) {
    one.reference.name = replay::ReferencePlatform().name;
  }
  std::optional<RunStatus> first, bad;
  for (const std::string& python : pythons) {
    one.test.python = python;
    const RunReport report = RunModule(module, one, stop);
    verdict.tries.push_back(TryOf(python, report));
    for (const std::string& warning : report.warnings) {
      if (std::ranges::count(verdict.warnings, warning) == 0) verdict.warnings.push_back(warning);
    }
    const bool runs = verdict.tries.back().closes.has_value();
    if (runs && !first) first = report.status;
    if (!runs && report.error) verdict.errors.push_back(*report.error);
    if (verdict.tries.back().closes == false && !bad) {
      bad = report.status;
      verdict.first_bad = python;
      if (const LeafComparison* worst = Worst(report)) verdict.worst = *worst;
      if (report.error) verdict.errors.push_back(*report.error);
    }
    if (stop.stop_requested()) break;
  }
  verdict.status = bad ? *bad : first ? *first : RunStatus::kUnsupported;
  if (bad || first)
    std::erase_if(verdict.errors,
                  [](const Error& error) { return !IsExecutionFailure(error.error_class); });
  verdict.sentence = Sentence(verdict, pythons.size());
  return verdict;
}

}  // namespace hloscope::debug
