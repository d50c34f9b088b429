#include "core/debug/reduce/hunt/hunt_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/parse_json.h"
#include "core/base/system_error.h"
#include "core/base/unique_fd.h"

namespace hloscope::debug {
namespace {

using Json = nlohmann::json;

struct CountField {
  const char* name;
  int64_t FuzzProgress::* field;
};
constexpr CountField kCounts[] = {{"programs", &FuzzProgress::programs},
                                  {"refused", &FuzzProgress::refused},
                                  {"differing", &FuzzProgress::differing},
                                  {"explained", &FuzzProgress::explained},
                                  {"unstable", &FuzzProgress::unstable}};

constexpr std::string_view kFindingLines = "findings", kUnstableLines = "unstable";

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::unexpected<Error> SystemError(const std::string& path) {
  return EnvironmentError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::string ProgressJson(const FuzzProgress& progress) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Field("what", progress.what).Field("next", progress.next);
  for (const CountField& count : kCounts) json.Field(count.name, progress.*count.field);
  json.Field("seconds", progress.seconds).Key("reasons").BeginObject();
  for (const auto& [reason, count] : progress.reasons) json.Field(reason, count);
  json.EndObject().Key("explained_signatures").BeginArray();
  for (const std::string& signature : progress.explained_signatures) json.Value(signature);
  json.EndArray().EndObject();
  return text + "\n";
}

Result<FuzzProgress> ParseProgress(std::string_view text, const std::string& path) {
  const Json json = ParseJson(text).value_or(nullptr);
  const auto fail = [&] { return InputError(path + ": no progress of `hunt`"); };
  if (!json.is_object()) return fail();
  try {
    FuzzProgress progress;
    progress.what = json.at("what").get<std::string>();
    progress.next = json.at("next").get<uint64_t>();
    for (const CountField& count : kCounts) {
      progress.*count.field = json.value(count.name, int64_t{0});
    }
    progress.seconds = json.at("seconds").get<double>();
    progress.reasons = json.at("reasons").get<std::map<std::string, int64_t>>();
    progress.explained_signatures = json.at("explained_signatures").get<std::vector<std::string>>();
    return progress;
  } catch (const Json::exception&) {
    return fail();
  }
}

// What the file has from there on; others may be appending to it, so that its size and time say
// nothing.
Result<std::string> ReadFrom(const std::string& file, int64_t from) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemFailure("read " + file);
  std::string bytes;
  for (;;) {
    constexpr size_t kBlock = size_t{1} << 16;
    const size_t size = bytes.size();
    bytes.resize(size + kBlock);
    const ssize_t n =
        pread(fd.get(), bytes.data() + size, kBlock, from + static_cast<int64_t>(size));
    bytes.resize(size + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return bytes;
    if (n < 0 && errno != EINTR) return SystemFailure("read " + file);
  }
}

}  // namespace

FuzzFolder::FuzzFolder(std::string path, int64_t rank, Limits limits)
    : path_(std::move(path)), rank_(rank), limits_(std::move(limits)) {}

std::string FuzzFolder::FileOf(std::string_view stem, std::string_view ending) const {
  return fmt::format("{}/{}-{}{}", path_, stem, rank_, ending);
}

Result<FuzzFolder> FuzzFolder::Open(const std::string& path, int64_t rank, std::string what,
                                    const Limits& limits) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return EnvironmentError(path + ": " + error.message());
  FuzzFolder folder(path, rank, limits);
  HLOSCOPE_TRY(folder.Lock());
  HLOSCOPE_TRY(folder.ReadProgress(what));
  HLOSCOPE_TRY(folder.DropUnfinishedLine(kFindingLines));
  HLOSCOPE_TRY(folder.DropUnfinishedLine(kUnstableLines));
  HLOSCOPE_TRY(folder.Reread());
  return folder;
}

// Held until the descriptor is closed, and so by no hunt that was killed. A file system without
// locks has none.
Status FuzzFolder::Lock() {
  const std::string file = FileOf(".lock", "");
  constexpr mode_t kMode = 0644;
  lock_ = UniqueFd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!lock_.valid()) return SystemError(file);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return InputError(fmt::format("{}: another hunt of rank {} writes there now", path_, rank_),
                    "name another folder with -o, or give each its own --rank of --ranks");
}

Status FuzzFolder::ReadProgress(const std::string& what) {
  progress_.what = what;
  const std::string file = FileOf("progress", ".json");
  if (!Exists(file)) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, FileView::Open(file, limits_));
  HLOSCOPE_ASSIGN_OR_RETURN(progress_, ParseProgress(view.bytes(), file));
  if (progress_.what == what) return {};
  return InputError(fmt::format("{}: holds the findings of another run: {}", path_, progress_.what),
                    "this one is " + what + "; name another folder with -o");
}

// A kill may have left half a line, which the next would be appended to.
Status FuzzFolder::DropUnfinishedLine(std::string_view stem) {
  const std::string file = FileOf(stem, ".jsonl");
  if (!Exists(file)) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, FileView::Open(file, limits_));
  const size_t end = view.bytes().rfind('\n');
  const size_t whole = end == std::string_view::npos ? 0 : end + 1;
  if (whole == view.bytes().size()) return {};
  return WriteFileAtomically(file, view.bytes().substr(0, whole));
}

void FuzzFolder::Take(Finding finding) {
  const bool is_there = std::ranges::any_of(
      findings_, [&](const Finding& one) { return one.fault == finding.fault; });
  if (!is_there) findings_.push_back(std::move(finding));
}

void FuzzFolder::Take(UnstableProgram program) {
  const bool is_there = std::ranges::any_of(
      unstable_, [&](const UnstableProgram& one) { return one.module == program.module; });
  if (!is_there) unstable_.push_back(std::move(program));
}

// The lines of all ranks' files of that stem.
template <typename Parse>
Status FuzzFolder::ReadLines(std::string_view stem, const Parse& parse) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_one = name.starts_with(stem) && name.substr(stem.size()).starts_with('-') &&
                        name.ends_with(".jsonl");
    if (is_one) files.push_back(entry.path());
  }
  if (error) return EnvironmentError(path_ + ": " + error.message());
  std::ranges::sort(files);
  for (const std::string& file : files) {
    int64_t& read = read_[file];
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, ReadFrom(file, read));
    std::string_view rest = bytes;
    // What has no end yet is being written.
    for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      auto line = parse(rest.substr(0, end));
      if (!line.has_value()) return InputError(file + ": " + line.error().message);
      Take(*std::move(line));
      rest.remove_prefix(end + 1);
      read += static_cast<int64_t>(end) + 1;
    }
  }
  return {};
}

Status FuzzFolder::Reread() {
  HLOSCOPE_TRY(ReadLines(kFindingLines, ParseFinding));
  return ReadLines(kUnstableLines, ParseUnstable);
}

Status FuzzFolder::AppendLine(std::string_view stem, const std::string& line) {
  const std::string file = FileOf(stem, ".jsonl");
  constexpr mode_t kMode = 0644;
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (fd < 0) return SystemError(file);
  const bool written =
      write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && fsync(fd) == 0;
  const auto failed = SystemError(file);
  close(fd);
  if (!written) return failed;
  return {};
}

Status FuzzFolder::Append(const Finding& finding) {
  HLOSCOPE_TRY(AppendLine(kFindingLines, FindingLine(finding)));
  Take(finding);
  return {};
}

Status FuzzFolder::Append(const UnstableProgram& program) {
  HLOSCOPE_TRY(AppendLine(kUnstableLines, UnstableLine(program)));
  Take(program);
  return {};
}

Status FuzzFolder::SaveProgress() {
  return WriteFileAtomically(FileOf("progress", ".json"), ProgressJson(progress_));
}

}  // namespace hloscope::debug
