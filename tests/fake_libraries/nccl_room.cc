// A file for each turn and rank, renamed when it is whole.
#include "tests/fake_libraries/nccl_room.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace fake_libraries {
namespace {

namespace fs = std::filesystem;
// Who has died does not come.
constexpr std::chrono::seconds kMaxWaiting{30};

std::string NameOf(const char* what, long turn, int a, int b = 0) {
  return std::string(what) + "-" + std::to_string(turn) + "-" + std::to_string(a) + "-" +
         std::to_string(b);
}

}  // namespace

std::string Room::Make() {
  std::string pattern = (fs::temp_directory_path() / "made-up-nccl-XXXXXX").string();
  return mkdtemp(pattern.data()) == nullptr ? std::string() : pattern;
}

Room::~Room() {
  std::error_code error;
  Leave();
  for (int r = 0; r < ranks_; ++r) {
    if (!fs::exists(PathOf(NameOf("left", 0, r)), error)) return;
  }
  fs::remove_all(folder_, error);
}

void Room::Leave() const { Write(NameOf("left", 0, rank_), "x"); }

void Room::Write(const std::string& name, const std::string& bytes) const {
  const std::string path = PathOf(name), part = path + ".part";
  std::ofstream(part, std::ios::binary) << bytes;
  std::error_code error;
  fs::rename(part, path, error);
}

bool Room::Await(const std::string& name, int rank, std::string& bytes) const {
  const auto end = std::chrono::steady_clock::now() + kMaxWaiting;
  std::error_code error;
  while (!fs::exists(PathOf(name), error)) {
    const bool has_left = fs::exists(PathOf(NameOf("left", 0, rank)), error);
    if (has_left && fs::exists(PathOf(name), error)) break;  // it came and went meanwhile
    if (has_left || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ifstream file(PathOf(name), std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

std::vector<std::string> Room::Exchange(const std::string& own) {
  const long turn = turn_++;
  Write(NameOf("turn", turn, rank_), own);
  std::vector<std::string> all(static_cast<size_t>(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    if (!Await(NameOf("turn", turn, r), r, all[static_cast<size_t>(r)])) return {};
  }
  // All have come to this turn: they have read that of the last.
  std::error_code error;
  fs::remove(PathOf(NameOf("turn", turn - 1, rank_)), error);
  return all;
}

void Room::Send(int to, const std::string& message) {
  Write(NameOf("letter", letters_[{rank_, to}]++, rank_, to), message);
}

std::string Room::Receive(int from) {
  const std::string name = NameOf("letter", letters_[{from, -1}]++, from, rank_);
  std::string bytes;
  if (!Await(name, from, bytes)) return {};
  std::error_code error;
  fs::remove(PathOf(name), error);
  return bytes;
}

}  // namespace fake_libraries
