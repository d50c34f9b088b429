// What launches would take on described devices, as text and JSON.
#pragma once

#include <string>

#include "app/reports/profile_report.h"
#include "core/base/json.h"

namespace hloscope::app {

// A table for each device, the longest first; empty where none was asked for.
std::string WhatIfText(const ProfileReport& report);
// The list "what_if".
void AppendWhatIf(const ProfileReport& report, JsonWriter& json);

}  // namespace hloscope::app
