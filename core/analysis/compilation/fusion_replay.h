// FusionReplay: the decisions of priority fusion carried out over the module before it, by names
// and opcodes alone: which fusions they make, of what and in which order.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/readers/fusion_process.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

class FusionReplay {
 public:
  FusionReplay(const hlo::Module& before, const std::vector<dump::FusionStep>& steps);

  struct Node {
    std::string name;                  // what it is called last
    std::set<std::string> parts;       // instructions of the module before that are in it
    std::multiset<std::string> kinds;  // their opcodes, without parameters and constants
    std::vector<size_t> steps;         // that made it, as positions in the list
    bool is_root = false, is_gone = false;
    std::multiset<size_t> users;
    std::set<size_t> operands;
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  // The node of that name at the end, or null: all that were made and are left.
  const Node* Find(std::string_view name) const;
  // Nodes that have the instruction of the module before; several where it was duplicated.
  std::vector<const Node*> With(std::string_view instruction) const;
  // Steps that name an instruction which is not there: the file is of another module.
  int64_t lost() const { return lost_; }

  // Against the module after the pass: fusions that only one side has, or of other members.
  // Fusions of one instruction and constants have no records and do not count.
  struct Check {
    int64_t foretold = 0, found = 0, same = 0;
    std::vector<std::string> differing;
    bool ok() const { return differing.empty(); }
  };
  Check Against(const hlo::Module& after) const;

 private:
  void Apply(const dump::FusionStep& step, size_t position);
  std::vector<Node> nodes_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::set<std::string> fusions_before_;
  int64_t lost_ = 0;
};

}  // namespace hloscope::analysis
