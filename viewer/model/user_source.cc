// Files opened part by part, each without links, so that no name leads out of its folder.
#include "viewer/model/user_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/unique_fd.h"
#include "core/dump/readers/line_reader.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxParts = 64;

// Parts without "." and empty ones; none at all where one is "..".
std::vector<std::string> PartsOf(std::string_view name) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part == ".." || part.find('\0') != std::string_view::npos) return {};
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

// The file at those parts below a folder; invalid: there is none, or a part is a link.
UniqueFd OpenBelow(const std::string& folder, std::span<const std::string> parts) {
  UniqueFd at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t k = 0; k < parts.size() && at.valid(); ++k) {
    const int kind = k + 1 == parts.size() ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY;
    at = UniqueFd(::openat(at.get(), parts[k].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  return at;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  dump::LineReader reader(text);
  for (std::string_view line; reader.Next(line);) lines.emplace_back(line);
  return lines;
}

Result<std::string> ReadAll(const UniqueFd& file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return InputError(path + ": not a regular file");
  if (status.st_size > kMaxSourceBytes)
    return InputError(fmt::format("{}: larger than {} bytes", path, kMaxSourceBytes));
  std::string text;
  std::string block(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return EnvironmentError(path + ": cannot be read");
    if (got == 0) return text;
    text.append(block, 0, static_cast<size_t>(got));
    // It may have grown.
    if (static_cast<int64_t>(text.size()) > kMaxSourceBytes)
      return InputError(fmt::format("{}: larger than {} bytes", path, kMaxSourceBytes));
  }
}

struct SourceKey {
  using Value = UserSource;
  std::vector<std::string> folders;
  std::string name;
  auto operator<=>(const SourceKey&) const = default;
};

}  // namespace

std::vector<std::string> NamesToTry(std::string_view name) {
  const std::vector<std::string> parts = PartsOf(name);
  std::vector<std::string> names;
  if (parts.size() > kMaxParts) return names;
  for (size_t first = 0; first < parts.size(); ++first) {
    std::string text = parts[first];
    for (size_t k = first + 1; k < parts.size(); ++k) text += "/" + parts[k];
    names.push_back(std::move(text));
  }
  return names;
}

Result<UserSource> ReadBelow(const std::string& folder, std::string_view name) {
  std::string why = fmt::format("{}: no such file below {}", name, folder);
  for (const std::string& each : NamesToTry(name)) {
    const std::vector<std::string> parts = PartsOf(each);
    const UniqueFd file = OpenBelow(folder, parts);
    if (!file.valid()) continue;
    const std::string path = folder + "/" + each;
    Result<std::string> text = ReadAll(file, path);
    if (text) return UserSource{path, LinesOf(*text)};
    why = text.error().ToString();
  }
  return InputError(why);
}

const Pending<UserSource>& UserSourceOf(Context& context, const std::string& name) {
  SourceKey key{context.source_folders, name};
  key.folders.push_back(context.document.path());
  return context.cache.Get(key, "reading the program", [key](TaskControl&) {
    Error first;
    for (const std::string& folder : key.folders) {
      Result<UserSource> read = ReadBelow(folder, key.name);
      if (read) return Computed<UserSource>(std::make_shared<UserSource>(*std::move(read)));
      if (first.message.empty()) first = read.error();
    }
    return Computed<UserSource>(std::unexpected(first));
  });
}

}  // namespace hloscope::viewer
