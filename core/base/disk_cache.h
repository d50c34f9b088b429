// DiskCache: what can be made again, kept in files so that making it again takes less time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hloscope {

// Any number of processes may use a folder at once. Whatever cannot be read, is broken or belongs
// to somebody else counts as absent, and whatever cannot be written is left out: a cache only saves
// time.
class DiskCache {
 public:
  using Words = std::array<uint64_t, 2>;

  // Keeps at most `max_bytes` in `folder`, which is made when first needed.
  DiskCache(std::string folder, int64_t max_bytes);
  // $XDG_CACHE_HOME/hloscope/`part`, else ~/.cache/hloscope/`part`; empty without either.
  static std::string FolderOfUser(std::string_view part);

  const std::string& folder() const { return folder_; }
  int64_t max_bytes() const { return max_bytes_; }

  // What is stored under `name` with exactly that stamp. It is the last to make room for others
  // from then on.
  std::optional<std::string> Load(std::string_view name, const Words& stamp) const;
  // Gives it to `take` in pieces, only if all of it is sound; false where there is none.
  bool Copy(std::string_view name, const Words& stamp,
            const std::function<void(std::string_view)>& take) const;
  // Stores it in place of an older one of that name, and removes the oldest others where there is
  // no room.
  void Store(std::string_view name, const Words& stamp, std::string_view bytes) const;

  // "PATH: why" where a file is there under `name` that Load does not take; empty where none is.
  std::string WhyRefused(std::string_view name) const;
  std::string PathOf(std::string_view name) const;

  struct Use {
    int64_t files = 0, bytes = 0;
  };
  Use Used() const;

 private:
  void MakeRoom(int64_t bytes) const;
  // Removes the oldest files until at most that many bytes are left: how many there are.
  int64_t Evict(int64_t most) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace hloscope
