#include "viewer/facts/missing_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/number_text.h"

namespace hloscope::viewer {

std::vector<dump::MissingPiece> MissingFor(const dump::DumpModel& dump, int32_t module,
                                           const ModuleFacts* facts) {
  std::vector<dump::MissingPiece> pieces;
  for (const dump::MissingPiece& piece : dump.missing()) {
    if (piece.module >= 0 && piece.module != module) continue;
    const bool is_told =
        facts != nullptr && ((piece.what == "buffer assignment" && facts->memory_bytes >= 0) ||
                             (piece.what == "live ranges" && facts->live_peak_bytes >= 0));
    const bool is_known = std::ranges::any_of(pieces, [&](const dump::MissingPiece& p) {
      return p.what == piece.what && p.flag == piece.flag;
    });
    if (!is_told && !is_known) pieces.push_back(piece);
  }
  return pieces;
}

std::string NothingMissingText(const dump::DumpModel& dump) {
  const bool is_one =
      dump.files().size() == 1 && dump.files().front().role == dump::FileRole::kLooseModule;
  return is_one ? "this is one module; passes, kernels and buffers are in a dump of the program"
                : "no known file is missing";
}

std::string UnreadText(const dump::DumpModel& dump) {
  constexpr size_t kMax = 800;
  std::string text;
  int64_t more = 0;
  for (const dump::FileEntry& file : dump.files()) {
    if (file.role != dump::FileRole::kUnknown) continue;
    if (text.size() > kMax) {
      ++more;
    } else {
      text +=
          fmt::format("{}{} ({})", text.empty() ? "" : ", ", file.path, dump::Describe(file.kind));
    }
  }
  return more == 0 ? text : text + fmt::format(" and {} more", CountText(more));
}

bool IsAboutUnread(const dump::DumpModel& dump, std::string_view warning) {
  if (warning.ends_with(" more files not recognised")) return true;
  // Each frame asks for each warning: the files are for the few that may be.
  constexpr std::string_view kUnread = ": not recognised, ";
  return warning.contains(kUnread) &&
         std::ranges::any_of(dump.files(), [&](const dump::FileEntry& file) {
           return file.role == dump::FileRole::kUnknown && warning.starts_with(file.path) &&
                  warning.substr(file.path.size()).starts_with(kUnread);
         });
}

}  // namespace hloscope::viewer
