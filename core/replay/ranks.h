// Ranks: processes that a launcher such as mpirun or srun started together, each with one device of
// a run. What they have to tell one another goes through files in a folder that all of them see.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::replay {

struct RankPlace {
  int64_t rank = 0, ranks = 1;
  int64_t local = 0;   // among those on this machine
  std::string folder;  // that all see, and no earlier run has used
};

// Of this process, as its launcher says (ranks.cc); it takes its place in the folder, which is
// made where there is none, for this user alone. Input errors: no launcher, numbers that make no
// sense, a folder that an earlier run has used, that is another user's or that others may write.
Result<RankPlace> TakeRank(const std::string& folder);
// For a process that runs its device: NAME=value.
std::string RankVariable(const RankPlace& place);
bool HasRank(const std::vector<std::string>& environment);

class Ranks {
 public:
  // That of this process, by RankVariable; null where it is no rank.
  static std::shared_ptr<const Ranks> OfProcess();
  explicit Ranks(RankPlace place) : place_(std::move(place)) {}

  int64_t rank() const { return place_.rank; }
  int64_t ranks() const { return place_.ranks; }
  int64_t local() const { return place_.local; }
  const RankPlace& place() const { return place_; }

  // Once for each rank: a process that comes after another died would take what is there for new.
  Status Begin() const;
  // `what` and a number that is the same in all ranks, which name the same things in the same
  // order.
  std::string NewName(const std::string& what) const;
  // For the others to wait for. Input error: such a file is there.
  Status Put(std::string_view name, std::string_view bytes) const;
  // What `rank` puts there, as soon as it does. Died: another rank failed, or `look`, which is
  // asked in turns, ends it; the error says who did not come to do what. Environment: what is there
  // is no file of a rank.
  Result<std::string> Take(std::string_view name, int64_t rank, std::string_view doing,
                           const std::function<Status()>& look) const;
  // What all have taken.
  void Remove(std::string_view name) const;
  // Tells the others that this one will not come any more.
  void Fail(const Error& error) const;
  // Died: another rank has failed. Environment: a stranger says so. Looks now and then only.
  Status Look() const;
  // For what another rank tells of its failure soon; success: none does.
  Status LookAgain() const;

 private:
  Status LookNow() const;

  RankPlace place_;
  mutable std::mutex mutex_;
  mutable bool has_begun_ = false;
  mutable std::map<std::string, int64_t> named_;
  mutable std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace hloscope::replay
