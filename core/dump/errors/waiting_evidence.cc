// Many devices and processes: who waits, and who is missing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/strings.h"
#include "core/dump/errors/evidence.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxWaiters = 4'000;  // looked at for others that wait

// The number behind `mark`; nullopt: there is none.
std::optional<int64_t> NumberBehind(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == line.npos) return std::nullopt;
  line.remove_prefix(at + mark.size());
  return TakeNumber(line);
}

// "[0,1,2]" behind `mark`.
std::vector<int64_t> ListBehind(std::string_view line, std::string_view mark) {
  std::vector<int64_t> list;
  const size_t at = line.find(mark);
  if (at == line.npos) return list;
  line.remove_prefix(at + mark.size());
  while (TakeWord(line, "[") || TakeWord(line, ",")) {
    const auto number = TakeNumber(line);
    if (!number) break;
    list.push_back(*number);
  }
  return list;
}

std::string Names(const auto& numbers) {
  constexpr size_t kMost = 32;
  std::string text;
  size_t count = 0;
  for (const int64_t number : numbers) {
    if (++count > kMost) return text + ", …";
    text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  }
  return text;
}

// "3" or "3, 5" with the noun in its number.
std::string Named(std::string_view noun, const auto& numbers) {
  return fmt::format("{}{} {}", noun, numbers.size() == 1 ? "" : "s", Names(numbers));
}

// "rank 6" of "initialize clique for rank 6; clique=devices=[0,1]; run_id=7", taken out.
std::string WithoutRank(std::string_view what) {
  const size_t at = what.find(" rank ");
  if (at == what.npos) return std::string(what);
  size_t end = at + std::string_view(" rank ").size();
  while (end < what.size() && what[end] >= '0' && what[end] <= '9') ++end;
  return std::string(what.substr(0, at)) + std::string(what.substr(end));
}

// "all-reduce" of "participant AllReduceParticipantData{…}".
std::string OperationOf(std::string_view participant) {
  if (!TakeWord(participant, "participant "))
    return std::string(participant.substr(0, participant.find('{')));
  std::string name;
  for (const char c : participant.substr(0, participant.find("ParticipantData"))) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name += '-';
    name += AsciiToLower(c);
  }
  return name;
}

// "task:3" of each "/job:NAME/replica:0/task:3" from line `k` on.
std::vector<int64_t> TasksFrom(const ErrorPlace& place, size_t k) {
  std::vector<int64_t> tasks;
  for (; k < kMaxWaiters; ++k) {
    const std::string_view line = Trim(place.Behind(k));
    const size_t job = line.find("/job:");  // behind what a launcher writes before each line
    if (job == line.npos || line.substr(job).contains(' ')) break;
    if (auto task = NumberBehind(line, "/task:")) tasks.push_back(*task);
  }
  return tasks;
}

Evidence ReadWatchdog(const ErrorPlace& place, ExplainedError& error) {
  const std::string same =
      fmt::format("WorkNCCL(SeqNum={}, OpType={},", place["number"], place["op"]);
  Evidence found{.key = same, .more = {}};
  found.is_repeat = place.told.contains(same);
  if (found.is_repeat) return found;
  std::set<int64_t> ranks;
  const size_t end = std::min(place.lines.size(), place.at + kMaxWaiters);
  for (size_t k = place.at; k < end; ++k) {
    if (!place.lines[k].contains(same)) continue;
    if (auto rank = NumberBehind(place.lines[k], "[Rank ")) ranks.insert(*rank);
  }
  error.reason =
      fmt::format("the collective {} (number {} of its group) did not end within {:.0f} s",
                  place["op"], place["number"], BytesOf(place["time"]).value_or(0) / 1000);
  if (!ranks.empty()) error.reason += fmt::format(", as {} report", Named("rank", ranks));
  error.op.clear();
  return found;
}

}  // namespace

Evidence ReadWaiting(const ErrorPlace& place, ExplainedError& error) {
  if (place.line().contains("WorkNCCL(SeqNum=") && !place["op"].empty())
    return ReadWatchdog(place, error);
  if (place["what"].empty() || !place["count"].empty()) return {};  // the row says it
  const std::string_view what = place["what"];
  const bool is_participant = what.starts_with("participant ");
  const std::string key = is_participant
                              ? std::string(Between(what, "rendezvous_key=", ", device_ordinal"))
                              : WithoutRank(what);
  Evidence found{.key = key, .more = {}};
  found.is_repeat = place.told.contains(key);
  if (found.is_repeat) return found;
  std::set<int64_t> ranks, arrived;
  const size_t end = std::min(place.lines.size(), place.at + kMaxWaiters);
  for (size_t k = place.at; k < end; ++k) {
    const std::string_view line = place.lines[k];
    if (!line.contains("may be stuck") && !line.contains("Termination timeout for `")) continue;
    const std::string_view other = Between(line, "`", "`");
    if (is_participant ? !line.contains(key) : WithoutRank(other) != key) continue;
    const auto rank =
        is_participant ? NumberBehind(line, "device_ordinal=") : NumberBehind(other, " rank ");
    if (rank) ranks.insert(*rank);
    if (auto id = NumberBehind(line, "[id=")) arrived.insert(*id);
  }
  const std::string time = place["seconds"].empty() ? std::string(place["time"])
                                                    : fmt::format("{} seconds", place["seconds"]);
  error.reason = fmt::format("a device has waited in {} for the others for {}",
                             is_participant ? OperationOf(what) : std::string(what), time);
  const std::vector<int64_t> devices =
      ListBehind(what, is_participant ? "global_devices=" : "devices=");
  const auto expected = NumberBehind(place.line(), "Expected ");
  if (!ranks.empty()) {
    error.reason += fmt::format("; {} {}", Named(is_participant ? "device" : "rank", ranks),
                                ranks.size() == 1 ? "waits" : "wait");
    std::vector<int64_t> missing;
    for (size_t k = 0; k < devices.size(); ++k) {
      const int64_t number = is_participant ? devices[k] : static_cast<int64_t>(k);
      if (!ranks.contains(number)) missing.push_back(number);
    }
    const bool all_here =
        is_participant || (expected && *expected == static_cast<int64_t>(devices.size()));
    if (!missing.empty() && all_here)
      error.reason += fmt::format(", of {}: {} did not say so", devices.size(),
                                  Named(is_participant ? "device" : "rank", missing));
    else if (expected)
      error.reason += fmt::format(" of the {} that this process expects", *expected);
  } else if (expected) {
    error.reason += arrived.empty() ? fmt::format("; {} threads were expected", *expected)
                                    : fmt::format("; {} of {} threads wrote that they wait",
                                                  arrived.size(), *expected);
  }
  return found;
}

Evidence ReadTasks(const ErrorPlace& place, ExplainedError& error) {
  const std::string_view line = place.line();
  constexpr std::string_view kSee =
      "see which process is missing, and whether it died; its log has the first error";
  Evidence found;
  if (!place["key"].empty()) {
    error.reason =
        fmt::format("{} was not published within {}: a process of the job did not reach that point",
                    place["key"], place["time"]);
    const auto devices = ListBehind(place["key"], "devices=");
    if (!devices.empty()) {
      error.reason = fmt::format("the communicator of {} devices was not made within {}",
                                 devices.size(), place["time"]);
      if (auto local = NumberBehind(place["key"], "num_local_participants="))
        error.reason += fmt::format(" (num_local_participants={})", *local);
      error.reason += ": the process with its first device did not reach that point";
    }
    error.fix = kSee;
  } else if (!place["id"].empty()) {
    error.reason = fmt::format("not all processes reached the barrier {}", place["id"]);
    found.key = place["id"];
    for (size_t k = 0; k < 8; ++k) {
      const std::string_view text = place.Behind(k);
      const size_t count = text.find("reached the barrier: ");
      if (count != text.npos) {
        const std::string_view share =
            text.substr(count + std::string_view("reached the barrier: ").size());
        const size_t slash = share.find('/');
        if (slash != share.npos)
          error.reason += fmt::format(
              ", {} of {} did", share.substr(0, slash),
              share.substr(slash + 1, share.substr(slash + 1).find_first_not_of("0123456789")));
      }
      if (auto first = NumberBehind(text, "first task at the barrier: ");
          !first && text.contains("first task at the barrier"))
        if (auto task = NumberBehind(text, "/task:"))
          error.reason += fmt::format(", task {} first", *task);
      if (!text.contains("imed out task names:")) continue;
      if (const auto tasks = TasksFrom(place, k + 1); !tasks.empty())
        error.reason += fmt::format("; {} did not", Named("task", tasks));
      break;
    }
    error.fix = fmt::format(
        "{}; initialization_timeout of jax.distributed.initialize waits longer at the start", kSee);
  } else if (line.contains("stopped sending heartbeats")) {
    const auto tasks = TasksFrom(place, 1);
    error.reason = tasks.empty()
                       ? "some processes of the job send no heartbeats any more"
                       : fmt::format("{} of the job {} no heartbeats any more",
                                     Named("task", tasks), tasks.size() == 1 ? "sends" : "send");
    error.fix =
        "these processes died, were preempted or were too busy to send them: see their logs; "
        "heartbeat_timeout_seconds of jax.distributed.initialize waits longer";
  } else if (!place["task"].empty()) {
    error.reason = fmt::format("task {} of the job sends no heartbeats any more", place["task"]);
    error.fix =
        "the process died, was preempted or was too busy to send them: see its log; "
        "heartbeat_timeout_seconds of jax.distributed.initialize waits longer";
    found.key = place["task"];
  }
  return found;
}

}  // namespace hloscope::dump
