// What the files of a dump are by their first bytes.
#pragma once

#include <string>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/listing.h"

namespace hloscope::dump {

// Fills `files` with one entry for each listed file: path, size and kind, read on several threads;
// `ends` says how their texts end. Files that cannot be read are kept as kUnknown and named in
// `warnings`. Error: stopped.
Status ReadHeads(const std::string& folder, const Listing& listing, const Limits& limits,
                 const OpenOptions& options, std::vector<FileEntry>& files,
                 std::vector<TextEnd>& ends, std::vector<std::string>& warnings);

}  // namespace hloscope::dump
