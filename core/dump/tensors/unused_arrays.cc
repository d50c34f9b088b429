// TensorFiles::Unused: which arrays of the files are never asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/counted.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

using Taken = TensorFiles::Taken;

constexpr std::string_view kDescription = "dtypes";  // that some writers add to an archive

// Goes over places in the order in which TensorFiles looks them up.
class UnusedFinder {
 public:
  explicit UnusedFinder(const Taken& taken) : taken_(taken) {}

  // All names of one place; of two that give one number the first in rank is read.
  void Place(const std::string& path, std::vector<std::string> names, bool names_all) {
    std::vector<std::tuple<int, std::string, std::optional<TensorNumber>>> ordered;
    for (std::string& name : names) {
      const std::optional<TensorNumber> number = TensorNumberOf(name, taken_.side);
      const int rank = number ? number->rank : 0;
      ordered.emplace_back(rank, std::move(name), number);
    }
    std::ranges::stable_sort(ordered, {}, [](const auto& entry) { return std::get<0>(entry); });
    std::vector<std::string> unused;
    for (const auto& [rank, name, number] : ordered) {
      const bool is_others = !number && TensorNumberOf(name, Other()).has_value();
      if (is_others || (!number && !names_all)) continue;
      if (!number || !IsRead(*number)) unused.push_back(name);
    }
    Add(path, unused);
  }

  // `path` is empty where the names are paths.
  void Add(const std::string& path, const std::vector<std::string>& unused) {
    if (unused.empty()) return;
    constexpr size_t kMaxNamed = 8;
    const size_t named = std::min(unused.size(), kMaxNamed);
    std::string line = path.empty() ? std::string() : path + ": ";
    line += fmt::format(
        "{}", fmt::join(unused.begin(), unused.begin() + static_cast<ptrdiff_t>(named), ", "));
    if (named < unused.size()) line += fmt::format(" and {} more", unused.size() - named);
    lines_.push_back(fmt::format("{} {} not used", line, VerbFor(unused.size(), "is", "are")));
  }

  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  TensorNames Other() const {
    return taken_.side == TensorNames::kInputs ? TensorNames::kOutputs : TensorNames::kInputs;
  }

  bool IsRead(const TensorNumber& number) {
    const bool counts_arrays = number.rank == 2 || taken_.side == TensorNames::kInputs;
    if (number.number >= (counts_arrays ? taken_.arrays : taken_.leaves)) return false;
    const int64_t devices = taken_.side == TensorNames::kInputs && taken_.devices > 1
                                ? taken_.devices
                                : 0;  // results have no names of their own for each device
    if (number.device >= devices) return false;
    return seen_.insert({number.number, number.device}).second;
  }

  const Taken& taken_;
  std::set<std::pair<int64_t, int64_t>> seen_;  // number and device
  std::vector<std::string> lines_;
};

std::vector<std::string> NpyFilesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".npy") names.push_back(at->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::optional<std::string> TensorFiles::UnusedDeviceInput(int64_t arrays, int64_t devices) const {
  std::vector<std::string> names;
  for (const NpzArchive& archive : archives_)
    std::ranges::copy(archive.Names(), std::back_inserter(names));
  for (const std::string& directory : directories_) {
    std::ranges::copy(NpyFilesIn(directory), std::back_inserter(names));
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const auto number = TensorNumberOf(name, TensorNames::kInputs);
    if (!number || number->device < 0) continue;
    if (number->number >= arrays || number->device >= devices || devices == 1) return name;
  }
  return std::nullopt;
}

std::vector<std::string> TensorFiles::Unused(const Taken& taken) const {
  UnusedFinder finder(taken);
  for (size_t archive = 0; archive < archives_.size(); ++archive) {
    const bool as_they_come =
        std::ranges::any_of(as_they_come_, [&](const auto& one) { return one.first == archive; });
    if (as_they_come) continue;
    std::vector<std::string> names = archives_[archive].Names();
    std::erase(names, kDescription);
    finder.Place(archives_[archive].path(), std::move(names), true);
  }
  for (const std::string& directory : directories_) {
    finder.Place(directory, NpyFilesIn(directory), false);
  }
  for (size_t i = static_cast<size_t>(taken.arrays); i < as_they_come_.size();) {
    std::vector<std::string> names;
    const size_t archive = as_they_come_[i].first;
    for (; i < as_they_come_.size() && as_they_come_[i].first == archive; ++i) {
      names.push_back(as_they_come_[i].second);
    }
    finder.Add(archives_[archive].path(), names);
  }
  if (std::cmp_less(taken.arrays, files_.size())) {
    finder.Add({}, {files_.begin() + static_cast<ptrdiff_t>(taken.arrays), files_.end()});
  }
  return finder.Take();
}

std::string TensorFiles::Contents() const {
  constexpr size_t kMaxNamed = 5;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& path, std::vector<std::string> names) {
    std::erase(names, kDescription);
    const size_t named = std::min(names.size(), kMaxNamed);
    std::string line =
        fmt::format("{} has {}", path,
                    fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(named), ", "));
    if (names.empty()) line = path + " has no array";
    if (named < names.size()) line += fmt::format(" and {} more", names.size() - named);
    lines.push_back(std::move(line));
  };
  for (const NpzArchive& archive : archives_) add(archive.path(), archive.Names());
  for (const std::string& directory : directories_) add(directory, NpyFilesIn(directory));
  if (!files_.empty())
    lines.push_back(Counted(files_.size(), ".npy file is", ".npy files are") + " given");
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace hloscope::dump
