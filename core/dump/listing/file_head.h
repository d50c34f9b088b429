// What the files of a dump are by their first bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip/archive.h"
#include "core/dump/listing/file_entry.h"
#include "core/dump/listing/listing.h"
#include "core/dump/listing/stage_counts.h"

namespace hloscope::dump {

// What the heads say beyond the kinds, by file.
struct FileHeads {
  std::vector<TextEnd> ends;  // how texts end
  // Of the modules, where options.count_stages asks for them; absent where only reading the module
  // whole tells.
  std::vector<std::optional<StageCounts>> counts;
};

// Fills `files` with one entry for each listed file: path, size and kind, read on several threads.
// `listing` is sorted by path; its paths are moved out. Files that cannot be read are kept as
// kUnknown and named in `warnings`. Errors: stopped; environment for a folder that cannot be
// opened.
Result<FileHeads> ReadHeads(const std::string& folder, Listing& listing, const Limits& limits,
                            const OpenOptions& options, std::vector<FileEntry>& files,
                            std::vector<std::string>& warnings);

// The same for the members of an archive that is called `path`.
Result<FileHeads> ReadHeads(const Archive& archive, const std::string& path,
                            const OpenOptions& options, std::vector<FileEntry>& files,
                            std::vector<std::string>& warnings);

}  // namespace hloscope::dump
