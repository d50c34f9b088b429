// Modules that workers died of, a bounded number of them.
#include "core/replay/workers/worker_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/string_pool.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxKept = 20;
constexpr size_t kMaxName = 80;
constexpr std::string_view kExtension = ".hlo.pb";

// The name with nothing in it that a file name should not have.
std::string SafeName(std::string_view name) {
  std::string safe(name.substr(0, kMaxName));
  for (char& c : safe) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return safe.empty() || safe[0] == '.' ? "module" + safe : safe;
}

// The oldest of our own files go until `kMaxKept` are left.
void Prune(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().native().ends_with(kExtension) || !entry.is_regular_file(error)) continue;
    kept.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (kept.size() <= kMaxKept) return;
  std::ranges::sort(kept);
  for (size_t i = 0; i < kept.size() - kMaxKept; ++i) fs::remove(kept[i].second, error);
}

}  // namespace

std::string EvidenceFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/hloscope/died";
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return std::string(home) + "/.local/state/hloscope/died";
}

std::string KeepEvidence(const hlo::Module& module, const std::string& folder) {
  if (folder.empty()) return {};
  const std::string bytes = hlo::ModuleToProto(module);
  const fs::path path = fs::path(folder) / fmt::format("{}.{:016x}{}", SafeName(module.name()),
                                                       hlo::HashBytes(bytes), kExtension);
  std::error_code error;
  if (fs::exists(path, error)) {
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return path;
  }
  fs::create_directories(folder, error);
  if (!WriteFileAtomically(path, bytes).has_value()) return {};
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  Prune(folder);
  return path;
}

}  // namespace hloscope::replay
