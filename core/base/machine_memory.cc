// Reading /proc and the memory controllers of both generations of control groups.
#include "core/base/machine_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "core/base/unique_fd.h"

namespace hloscope {
namespace {

// The start of a file that the kernel makes up; empty where there is none.
std::string ReadStart(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  std::string text(4096, '\0');
  const ssize_t n = read(fd.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return text;
}

std::optional<int64_t> LeadingNumber(std::string_view text) {
  int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

// The path behind `controllers` in a line "N:controllers:/path" of /proc/self/cgroup.
std::optional<std::string> GroupOf(const std::string& table, std::string_view controllers) {
  const std::string key = ":" + std::string(controllers) + ":";
  size_t at = table.find(key);
  if (at == std::string::npos) return std::nullopt;
  at += key.size();
  return table.substr(at, table.find('\n', at) - at);
}

// The least of the limits of a group and the groups around it.
void Lower(int64_t& least, std::string_view root, const std::string& group, std::string_view file) {
  for (size_t end = group.size();;) {
    std::string path(root);
    path.append(group, 0, end).append(file);
    const auto limit = LeadingNumber(ReadStart(path));
    if (limit && *limit > 0) least = std::min(least, *limit);
    const size_t slash = end == 0 ? std::string::npos : group.rfind('/', end - 1);
    if (slash == std::string::npos) return;
    end = slash;
  }
}

int64_t MeasureMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_size = sysconf(_SC_PAGESIZE);
  int64_t least = pages > 0 && page_size > 0 ? pages * page_size : int64_t{1} << 33;
  const std::string table = ReadStart("/proc/self/cgroup");
  if (const auto group = GroupOf(table, "")) Lower(least, "/sys/fs/cgroup", *group, "/memory.max");
  if (const auto group = GroupOf(table, "memory")) {
    Lower(least, "/sys/fs/cgroup/memory", *group, "/memory.limit_in_bytes");
  }
  return least;
}

}  // namespace

int64_t MachineMemoryBytes() {
  static const int64_t bytes = MeasureMemory();
  return bytes;
}

std::optional<int64_t> ResidentBytesOf(std::string_view pid) {
  const std::string text = ReadStart("/proc/" + std::string(pid) + "/statm");
  int64_t numbers[3] = {};  // size, resident, shared
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int64_t& number : numbers) {
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) return std::nullopt;
    at = std::min(read.ptr + 1, end);
  }
  return (numbers[1] - numbers[2]) * sysconf(_SC_PAGESIZE);
}

std::optional<int64_t> PeakBytesOf(std::string_view pid) {
  const std::string text = ReadStart("/proc/" + std::string(pid) + "/status");
  constexpr std::string_view kPeak = "\nVmHWM:";  // in kB, behind blanks
  const size_t at = text.find(kPeak);
  if (at == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(at + kPeak.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const auto kilobytes = LeadingNumber(rest);
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

bool ForgetPeakOf(std::string_view pid) {
  const std::string path = "/proc/" + std::string(pid) + "/clear_refs";
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() && write(fd.get(), "5", 1) == 1;
}

}  // namespace hloscope
