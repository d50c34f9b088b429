#include "core/dump/container.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/base/closest_text.h"
#include "core/dump/trace_modules.h"

namespace hloscope::dump {
namespace {

// What must be unchanged for what is kept of a file to be used.
struct FileStamp {
  std::string path;
  int64_t size = 0, seconds = 0, nanoseconds = 0;
  uint64_t inode = 0;
  int64_t limit_members = 0, limit_bytes = 0, limit_member_bytes = 0;
  bool operator==(const FileStamp&) const = default;
};

std::optional<FileStamp> FileStampOf(const std::string& path, const Limits& limits = {}) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileStamp{
      path,          status.st_size,         status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
      status.st_ino, limits.archive_members, limits.archive_bytes,  limits.archive_member_bytes};
}

// The one that was opened last, by any thread.
template <typename T>
class LastOpened {
 public:
  template <typename Make>
  Result<std::shared_ptr<const T>> Get(const FileStamp& stamp, Make make) {
    const std::scoped_lock lock(mutex_);
    if (value_ != nullptr && stamp_ == stamp) return value_;
    value_ = nullptr;
    HLOSCOPE_ASSIGN_OR_RETURN(T made, make());
    stamp_ = stamp;
    value_ = std::make_shared<const T>(std::move(made));
    return value_;
  }

 private:
  std::mutex mutex_;
  FileStamp stamp_;
  std::shared_ptr<const T> value_;
};

constexpr std::string_view kStdin = "-";

struct DividedText {
  FileView file;
  ModuleParts found;
};

Error NoSuchFile(const std::string& path) {
  return {ErrorClass::kInput, "no such file", {path, 0, 0}, {}};
}

constexpr std::string_view kListsModules =
    "name a module file; `hloscope info` lists those of a dump";

// Of `WHOLE:SELECTOR`, where WHOLE is there.
Error NamesNothing(const std::string& whole, std::string_view selector, std::string_view why,
                   std::string_view hint) {
  return {ErrorClass::kInput,
          fmt::format("{}: `:{}` names nothing in it", why, selector),
          {whole, 0, 0},
          std::string(hint)};
}

DividedText Divide(FileView file, const Limits& limits) {
  ModuleParts found = FindModulesIn(file.bytes(), limits);
  return {std::move(file), std::move(found)};
}

// The archive that a path leads into; empty: none.
std::string ArchiveAround(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (std::string archive = path.substr(0, slash); IsArchive(archive)) return archive;
  }
  return {};
}

// Of a file, of a member of an archive as long as the archive is unchanged, or of standard input.
std::optional<FileStamp> InputStampOf(const std::string& path, const Limits& limits) {
  if (path == kStdin) return FileStamp{.path = path};
  std::optional<FileStamp> stamp = FileStampOf(path, limits);
  if (stamp) return stamp;
  stamp = FileStampOf(ArchiveAround(path), limits);
  if (stamp) stamp->path = path;
  return stamp;
}

// `a.zip/dir/m.hlo`; nullopt: no part of the path is an archive.
std::optional<Result<FileView>> OpenMember(const std::string& path, const Limits& limits) {
  const std::string whole = ArchiveAround(path);
  if (whole.empty()) return std::nullopt;
  const auto archive = OpenArchive(whole, limits);
  if (!archive) return std::unexpected(archive.error());
  const std::string_view name = std::string_view(path).substr(whole.size() + 1);
  const Archive::Member* member = (*archive)->Find(name);
  if (member == nullptr) {
    ClosestText closest(name);
    for (const Archive::Member& each : (*archive)->members()) closest.Offer(each.name);
    Error error = NoSuchFile(path);
    error.hint = closest.Hint();
    return std::unexpected(std::move(error));
  }
  return (*archive)->Read(*member, path);
}

Result<FileView> OpenWhole(const std::string& path, const Limits& limits) {
  if (path == kStdin) return FileView::Open(path, limits);
  if (auto member = OpenMember(path, limits)) return *std::move(member);
  return FileView::Open(path, limits);
}

// `all.hlo:NAME`, where all.hlo may lie in an archive itself; nullopt: it is not meant so.
std::optional<Result<FileView>> OpenPart(const std::string& path, const Limits& limits) {
  static LastOpened<DividedText> kept;
  const size_t colon = path.rfind(':');
  if (colon == std::string::npos || colon == 0 || path.find('/', colon) != std::string::npos)
    return std::nullopt;
  const std::string whole = path.substr(0, colon), selector = path.substr(colon + 1);
  const std::optional<FileStamp> stamp = InputStampOf(whole, limits);
  if (!stamp) {
    if (!IsFolder(whole)) return std::nullopt;
    return std::unexpected(NamesNothing(whole, selector, "is a folder", kListsModules));
  }
  const auto divided = kept.Get(*stamp, [&]() -> Result<DividedText> {
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, OpenWhole(whole, limits));
    return Divide(std::move(file), limits);
  });
  if (!divided) {
    return std::unexpected(whole == kStdin ? divided.error() : NoSuchFile(path));
  }
  const std::vector<ModulePart>& parts = (*divided)->found.parts;
  if (const ModulePart* part = FindPart(parts, selector)) return PartView((*divided)->file, *part);
  if (parts.empty()) {
    return std::unexpected(
        NamesNothing(whole, selector, "does not hold several modules", "name the file alone"));
  }
  Error error = SeveralModules(whole, parts);
  error.message = "has no module " + selector;
  return std::unexpected(std::move(error));
}

}  // namespace

bool IsArchive(const std::string& path) {
  if (!IsArchiveName(path) || !FileStampOf(path)) return false;
  std::array<char, 64> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return Sniff({head.data(), head.size()}, false) != FileKind::kBundle;
}

bool IsFolder(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return true;
  return IsArchive(path);
}

Result<std::shared_ptr<const Archive>> OpenArchive(const std::string& path, const Limits& limits) {
  static LastOpened<Archive> kept;
  const std::optional<FileStamp> stamp = FileStampOf(path, limits);
  if (!stamp) return std::unexpected(NoSuchFile(path));
  return kept.Get(*stamp, [&]() -> Result<Archive> {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
    return Archive::Open(file, limits);
  });
}

Result<FileView> OpenInput(const std::string& path, const Limits& limits) {
  struct stat status = {};
  if (path == kStdin) return FileView::Open(path, limits);
  if (stat(path.c_str(), &status) == 0) {
    auto file = FileView::Open(path, limits);
    if (!file && S_ISDIR(status.st_mode)) {
      file.error().hint = kListsModules;
    }
    return file;
  }
  auto member = OpenMember(path, limits);
  if (member && *member) return *std::move(member);
  if (auto part = OpenPart(path, limits)) return *std::move(part);
  if (member) return *std::move(member);
  return FileView::Open(path, limits);
}

ModuleParts FindModulesIn(std::string_view bytes, const Limits& limits) {
  return FindModulesIn(bytes, Sniff(bytes), limits);
}

ModuleParts FindModulesIn(std::string_view bytes, FileKind kind, const Limits& limits) {
  return kind == FileKind::kUnknown ? ModulesOfTrace(bytes, limits)
                                    : FindModuleParts(bytes, kind, limits);
}

Result<FileView> OnlyModuleIn(const FileView& file, const Limits& limits) {
  return OnlyModuleIn(file, FindModulesIn(file.bytes(), limits));
}

Result<FileView> OnlyModuleIn(const FileView& file, const ModuleParts& found) {
  if (found.parts.size() > 1) return std::unexpected(SeveralModules(file.path(), found.parts));
  if (found.parts.size() == 1) return PartView(file, found.parts.front());
  if (found.graphs_of_ir == 0) return file;
  Error error{ErrorClass::kInput,
              "holds graphs of PyTorch/XLA as its own IR, and no HLO",
              {file.path(), 0, 0},
              "XLA_SAVE_TENSORS_FMT=hlo saves HLO"};
  return std::unexpected(std::move(error));
}

Result<FileView> OpenModuleFile(const std::string& path, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, OpenInput(path, limits));
  return OnlyModuleIn(file, limits);
}

}  // namespace hloscope::dump
