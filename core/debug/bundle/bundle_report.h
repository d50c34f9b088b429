// The report of a bundle: what a maintainer has to know, in the order it is asked.
#pragma once

#include <string>

#include "core/debug/bundle/document.h"
#include "core/debug/bundle/machine.h"
#include "core/debug/bundle/manifest.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// What a report is made of; the texts are redacted already.
struct ReportFacts {
  const BundleManifest& manifest;
  const MachineFacts& machine;
  const RunReport& report;
  std::string module_text, reduced_text;
  std::string verdict_json, profile_json, note;
  std::string out_name;
  std::vector<dump::BundlePart> parts;
};

// " against interpreter", of a run that has failed or not: with a reference platform and expected
// values the side that results differ from, or both. Empty without a reference platform.
std::string AgainstPhrase(const BundleManifest& manifest, const RunReport& report);

ReportDocument MakeReport(const ReportFacts& facts);

}  // namespace hloscope::debug
