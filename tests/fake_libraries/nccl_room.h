// Room: how ranks in several processes tell one another what they have, through files in a folder
// that the name of their communicator names.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fake_libraries {

class Room {
 public:
  // A new folder for others to join; empty: there is no room for one.
  static std::string Make();
  Room(std::string folder, int rank, int ranks)
      : folder_(std::move(folder)), rank_(rank), ranks_(ranks) {}
  // The last to leave removes the folder.
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // What all have brought to this turn, by rank; empty: somebody did not come in time.
  std::vector<std::string> Exchange(const std::string& own);
  void Send(int to, const std::string& message);
  // Empty: it did not come in time.
  std::string Receive(int from);
  // Nothing more comes of this one: nobody waits for it.
  void Leave() const;
  int failed = 0;  // what went wrong since

 private:
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  bool Await(const std::string& name, int rank, std::string& bytes) const;
  void Write(const std::string& name, const std::string& bytes) const;

  std::string folder_;
  int rank_, ranks_;
  long turn_ = 0;
  std::map<std::pair<int, int>, long> letters_;  // by source and target
};

}  // namespace fake_libraries
