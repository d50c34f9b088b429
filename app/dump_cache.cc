// Names of reports, and listings by the table of folders that is kept with them.
#include "app/dump_cache.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/version.h"
#include "core/dump/listing/folder_table.h"

namespace hloscope::app {

std::string ReportName(const std::string& path, std::string_view form, const Context& context) {
  std::error_code error;
  std::string name = std::filesystem::absolute(path, error).string();
  // So that a program just built does not show what an earlier one found.
  const auto built = std::filesystem::last_write_time("/proc/self/exe", error);
  name +=
      fmt::format("\n{}\n{}\n{}\n{}", built.time_since_epoch().count(), path, form, VersionText());
  for (const LimitRow& row : LimitRows()) name += fmt::format(" {}", context.limits.*row.field);
  return name;
}

Result<dump::Listing> ListDump(const std::string& path, const std::string& name,
                               const Context& context, const dump::ReportCache* cache) {
  if (cache == nullptr) return dump::ListFolder(path, context.limits);
  constexpr dump::Fingerprint kAny;
  const std::string folders_name = name + "\nfolders";
  std::optional<dump::FolderTable> known;
  if (auto bytes = cache->Load(folders_name, kAny))
    known = dump::FolderTable::Read(*std::move(bytes));
  dump::FolderTable next;
  bool read_any = false;
  HLOSCOPE_ASSIGN_OR_RETURN(
      dump::Listing listing,
      dump::ListFolder(path, context.limits, known ? &*known : nullptr, next, read_any));
  if (read_any) cache->Store(folders_name, kAny, next.bytes());
  return listing;
}

}  // namespace hloscope::app
