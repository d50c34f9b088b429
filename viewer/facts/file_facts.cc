// One pass over the files of a dump.
#include "viewer/facts/file_facts.h"

#include <filesystem>

#include "profiler/profile.h"
#include "viewer/model/document.h"
#include "viewer/model/marks.h"

namespace hloscope::viewer {

std::vector<std::string> TracesIn(const dump::DumpModel& dump) {
  std::vector<std::string> paths;
  for (size_t f = 0; f < dump.files().size(); ++f)
    paths.push_back(dump.FullPath(static_cast<int32_t>(f)));
  return profiler::PreferredTraces(paths);
}

// TensorBoard's layout: FOLDER/plugins/profile/RUN/HOST.xplane.pb, beside files of events.
std::vector<std::string> TracesOfFolder(const std::string& path, const Limits& limits) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(fs::path(path) / "plugins" / "profile", error)) return {};
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const bool is_event = at->path().filename().string().find("tfevents") != std::string::npos;
    if (at->is_regular_file(error) && !is_event) return {};
    // A folder of its own may be a dump.
    if (at->is_directory(error) && at->path().filename() != "plugins") return {};
  }
  return profiler::TracesBelow(path, limits).value_or(std::vector<std::string>());
}

const FileFacts& FileFactsOf(const Context& context) {
  const std::shared_ptr<const dump::DumpModel>& dump = context.document.dump().value;
  FileFacts& facts = context.marks.Of<FileFacts>();
  if (facts.of == dump) return facts;
  facts = {.of = dump, .traces = TracesIn(*dump), .roles = {}};
  for (const dump::FileEntry& file : dump->files()) {
    auto& [count, bytes] = facts.roles[file.role];
    ++count;
    bytes += file.bytes;
  }
  return facts;
}

}  // namespace hloscope::viewer
