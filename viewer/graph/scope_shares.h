// The scopes of the user's program by what they take, the largest first: what Home and the head of
// the graphs say. Each kernel counts once, as in Contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "viewer/facts/heat.h"
#include "viewer/graph/contents.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct ScopeShare {
  // Named scopes, outermost first: "encoder/mlp", forward and backward together; of what has none
  // the function that wrote it, or that a framework compiled by itself: "whiten()"; empty: metadata
  // has neither.
  std::string name;
  double amount = 0, backward = 0;  // the second is a part of the first
  int64_t operations = 0;           // that were written in it
  bool is_rest = false;             // of one that is nearly all: what is in none of its scopes
};

struct ScopeShares {
  // Those that divide the program: of one that is nearly all what is in it. Most first.
  std::vector<ScopeShare> scopes;
  double whole = 0;  // of all of them
  // What the amounts are, of the compiled module; null: it was not compiled, and they are numbers
  // of operations.
  std::shared_ptr<const HeatFacts> amounts;
  // "Largest scope by bytes moved (estimate): encoder 62 % (41 % backward), decoder 30 %, no scope
  // 8 %"; empty where nothing has a name.
  std::string sentence;
  // "Largest scope: encoder, 62 % of bytes moved (estimate)", and without the measure.
  std::string head, brief_head;
};

// `contents` of the program and what it was compiled to; null: only operations are counted.
ScopeShares FindScopeShares(const hlo::Module& program, const StageKernels* kernels,
                            const Contents* contents);

// Of the module in view; null while it, or what it needs, is being found. Without scopes where the
// module cannot be read.
std::shared_ptr<const ScopeShares> ScopeSharesOf(Context& context);

}  // namespace hloscope::viewer
