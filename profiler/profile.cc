// Opening of traces by the rows of trace_formats.def.
#include "profiler/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "core/base/counted.h"
#include "core/base/kernel_file_system.h"
#include "core/base/memory_limit.h"
#include "core/base/progress/activity.h"

namespace hloscope::profiler {
namespace {

struct FormatRow {
  std::string_view name, endings, title;
  bool (*test)(std::string_view bytes);
  Result<std::shared_ptr<Profile>> (*read)(const FileView& file, const TraceRequest& request);
  std::string_view written;
  Result<std::vector<Loss>> (*write)(const WriteRequest& request);
};
constexpr FormatRow kFormats[] = {
#define TRACE_FORMAT(kind, name, endings, title, test, read, written, write) \
  {name, endings, title, &test, &read, written, &write},
#include "profiler/trace_formats.def"
#undef TRACE_FORMAT
};

std::string_view WithoutGzip(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path;
}

// Which of `endings`, words between spaces, the path has; empty for none.
std::string_view EndingOf(std::string_view path, std::string_view endings) {
  while (!endings.empty()) {
    const std::string_view ending = endings.substr(0, endings.find(' '));
    if (path.ends_with(ending)) return ending;
    endings.remove_prefix(std::min(ending.size() + 1, endings.size()));
  }
  return {};
}

const FormatRow* FormatOfName(std::string_view path) {
  const auto* row = std::ranges::find_if(kFormats, [&](const FormatRow& r) {
    return !EndingOf(WithoutGzip(path), r.endings).empty();
  });
  return row == std::ranges::end(kFormats) ? nullptr : row;
}

const FormatRow* WrittenFormat(std::string_view path) {
  const auto* row = std::ranges::find_if(kFormats, [&](const FormatRow& r) {
    return !EndingOf(WithoutGzip(path), r.written).empty();
  });
  return row == std::ranges::end(kFormats) ? nullptr : row;
}

const FormatRow* FormatOfBytes(std::string_view bytes) {
  const auto* row =
      std::ranges::find_if(kFormats, [&](const FormatRow& r) { return r.test(bytes); });
  return row == std::ranges::end(kFormats) ? nullptr : row;
}

std::string FirstOf(std::string_view endings) {
  return std::string(endings.substr(0, endings.find(' ')));
}
std::string AsPattern(std::string_view endings) {
  return endings.empty() ? std::string() : "*" + FirstOf(endings);
}

// The modules of the run are in its trace of a format that says more, under the same name.
void TakeModulesBeside(Profile& profile, const TraceRequest& request) {
  const FormatRow* named = FormatOfName(profile.file.path());
  if (named == nullptr) return;
  std::string stem(WithoutGzip(profile.file.path()));
  stem.resize(stem.size() - EndingOf(stem, named->endings).size());
  for (const FormatRow* row = kFormats; row != named; ++row) {
    for (std::string_view packed : {"", ".gz"}) {
      std::error_code error;
      const std::string path = stem + FirstOf(row->endings) + std::string(packed);
      if (!std::filesystem::is_regular_file(path, error)) continue;
      auto file = FileView::Open(path, request.limits);
      if (!file || !row->test(file->bytes())) continue;
      auto other = row->read(*file, request);
      if (!other || (*other)->modules.empty()) continue;
      profile.modules = std::move((*other)->modules);
      profile.modules_file = *std::move(file);
      return;
    }
  }
}

// "a, b or c" of what `text` gives for each format; nothing of those for which it is empty.
template <typename Text>
std::string Alternatives(Text text) {
  std::vector<std::string> words;
  for (const FormatRow& row : kFormats) {
    if (std::string word = text(row); !word.empty()) words.push_back(std::move(word));
  }
  std::string out;
  for (size_t w = 0; w < words.size(); ++w) {
    if (w > 0) out += w + 1 == words.size() ? " or " : ", ";
    out += words[w];
  }
  return out;
}

}  // namespace

std::string_view ToString(ProfileFormat format) {
  return kFormats[static_cast<size_t>(format)].name;
}

bool IsTrace(std::string_view bytes) { return FormatOfBytes(bytes) != nullptr; }
bool IsTraceName(std::string_view path) { return FormatOfName(path) != nullptr; }

std::string TraceNames() {
  return Alternatives([](const FormatRow& row) { return AsPattern(row.endings); });
}

std::string WrittenNames() {
  return Alternatives([](const FormatRow& row) { return AsPattern(row.written); });
}

bool IsNeverRead(std::string_view) { return false; }
Result<std::shared_ptr<Profile>> CannotRead(const FileView& file, const TraceRequest&) {
  return UnsupportedError(file.path() + ": this format is written, not read");
}

Result<std::vector<Loss>> CannotWrite(const WriteRequest& request) {
  return UnsupportedError(request.path + ": this format is read, not written");
}

Status CheckWritten(std::string_view path) {
  if (WrittenFormat(path) != nullptr) return {};
  return InputError(std::string(path) + ": unknown profile format",
                    "expected " + WrittenNames() + ", or these with .gz appended");
}

Result<std::vector<Loss>> WriteProfile(const WriteRequest& request) {
  HLOSCOPE_TRY(CheckWritten(request.path));
  return WrittenFormat(request.path)->write(request);
}

std::vector<std::string> PreferredTraces(const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const FormatRow& row : kFormats) {
    std::ranges::copy_if(paths, std::back_inserter(found),
                         [&](const std::string& path) { return FormatOfName(path) == &row; });
    if (!found.empty()) break;
  }
  std::ranges::sort(found);
  return found;
}

Result<std::vector<std::string>> TracesBelow(const std::string& folder, const Limits& limits) {
  namespace fs = std::filesystem;
  // Folders of profiles hold little else.
  const int64_t most = std::max<int64_t>(limits.directory_entries / 50, 1000);
  std::vector<std::string> paths;
  std::error_code error;
  int64_t others = 0;
  std::deque<fs::path> folders = {folder};
  for (bool at_top = true; !folders.empty(); at_top = false) {
    const fs::path at = std::move(folders.front());
    folders.pop_front();
    if (const std::string_view kind = KernelFileSystemAt(at.string()); !kind.empty()) {
      if (at_top)
        return InputError(
            fmt::format("{}: is in the kernel's file system {}, where no trace is", folder, kind));
      continue;
    }
    fs::directory_iterator it(at, fs::directory_options::skip_permission_denied, error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
      const bool is_trace = IsTraceName(it->path().native());
      if (is_trace) paths.push_back(it->path().string());
      if (!is_trace && ++others > most) {
        return InputError(fmt::format("{}: more than {} that are not traces", folder,
                                      Counted(most, "entry", "entries")),
                          "raise it with --limit directory-entries=N, or name the trace itself");
      }
      std::error_code none;
      if (it->is_directory(none) && !it->is_symlink(none)) folders.push_back(it->path());
    }
    if (error) return EnvironmentError(at.string() + ": " + error.message());
  }
  if (paths.empty()) {
    return InputError(folder + ": no trace in this folder, expected " + TraceNames(),
                      "jax.profiler.trace(FOLDER) leaves them in FOLDER/plugins/profile");
  }
  return PreferredTraces(paths);
}

namespace {

Result<std::shared_ptr<const Profile>> ReadAny(const FileView& file, const TraceRequest& request) {
  const FormatRow* row = FormatOfBytes(file.bytes());
  if (row == nullptr) {
    return InputError(
        file.path() + ": not " +
            Alternatives([](const FormatRow& r) { return std::string(r.title); }),
        "expected " + TraceNames() + " as jax.profiler.trace leaves in plugins/profile");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<Profile> profile, row->read(file, request));
  if (profile->modules.empty()) {
    TakeModulesBeside(*profile, {request.limits, request.jobs, request.stop, true});
  }
  return std::shared_ptr<const Profile>(std::move(profile));
}

Result<std::shared_ptr<const Profile>> Read(const FileView& file, const TraceRequest& request) {
  return WithinMemory(request.limits, file.path(), [&] { return ReadAny(file, request); });
}

}  // namespace

Result<std::shared_ptr<const Profile>> ReadProfile(const FileView& file, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop) {
  const Activity activity("reading", file.path());
  return Read(file, {limits, jobs, stop});
}

Result<std::shared_ptr<const Profile>> OpenProfile(const std::string& path, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(path, limits));
  return Read(file, {limits, jobs, stop, false, true});
}

}  // namespace hloscope::profiler
