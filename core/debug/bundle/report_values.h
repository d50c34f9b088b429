// Reports of runs by the value policy of a bundle.
#pragma once

#include <string>
#include <string_view>

#include "core/debug/bundle/manifest.h"

namespace hloscope::debug {

/// A report (run.json, verdict.json) with the fields of report_fields.def only. Below kStatistics
/// without elements of inputs and results, and with errors to one digit: an error, or a distance in
/// ULP, from zero is the value itself.
std::string WithAllowedFields(const std::string& report_json, ValuePolicy policy);

/// A sentence without the numbers that may be elements: those are rounded to one digit, as in
/// "about 0.1", or replaced by `<value>`. Counts, indices, times and sizes stay.
std::string WithoutElements(std::string_view sentence);

/// The verdict of a run without the elements that it quotes.
void HideValues(std::string& verdict);
void HideValues(Failure& failure);

/// `error` to one significant digit: 0.0312 is 0.03.
double Magnitude(double error);

/// Whether the line of `diverge` found a difference.
bool IsOfDifference(const std::string& verdict_json);

/// The sentence in the line of `diverge`; empty: there is none.
std::string SentenceOf(const std::string& verdict_json);

}  // namespace hloscope::debug
