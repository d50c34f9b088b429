// What the user's cache knows of a dump folder: its listing, and reports about it.
#pragma once

#include <string>
#include <string_view>

#include "app/command.h"
#include "core/dump/listing/report_cache.h"

namespace hloscope::app {

// The name of a report: it depends on the program, the limits, the path as it was given and `form`.
std::string ReportName(const std::string& path, std::string_view form, const Context& context);

// The files of the folder; folders that did not change since the last listing are not read again.
// `cache` may be null. Errors: as dump::ListFolder.
Result<dump::Listing> ListDump(const std::string& path, const std::string& name,
                               const Context& context, const dump::ReportCache* cache);

}  // namespace hloscope::app
