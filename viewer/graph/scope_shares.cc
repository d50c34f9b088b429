#include "viewer/graph/scope_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/graph/count_text.h"
#include "core/graph/user_words.h"
#include "core/hlo/analysis/source_line.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/memory/scope_words.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

// What is nearly all says nothing: what is in it does.
constexpr double kNearlyAll = 0.9;
constexpr double kRounding = 1e-9;  // of the whole
constexpr size_t kDeepestScope = 12, kMaxSaid = 4, kMinRepeats = 4;

// Scopes as a tree, the root first.
class ScopeTree {
 public:
  struct Scope {
    std::string name;  // its own
    uint32_t parent = 0;
    double amount = 0, backward = 0;
    int64_t operations = 0;
    std::map<std::string, uint32_t, std::less<>> inside;
  };

  explicit ScopeTree(const hlo::Module& module)
      : module_(module), in_front_(NamesInFront(module)), scopes_(1) {}

  // Its operation counts, with what it takes, in its scope and all around that.
  void Add(hlo::InstructionId id, double amount, int64_t operations) {
    const std::string name = NameOf(id);
    Count(Find(module_, id, name), IsBackward(name), amount, operations);
  }
  // Of another module, by its own metadata, which names the scopes of this one.
  void AddOther(const hlo::Module& module, hlo::InstructionId id, double amount) {
    const std::string_view name = hlo::OpNameOf(module, id);
    Count(Find(module, id, name), IsBackward(name), amount, 0);
  }

  const Scope& root() const { return scopes_[0]; }
  const Scope& operator[](uint32_t scope) const { return scopes_[scope]; }

 private:
  std::string NameOf(hlo::InstructionId id) const {
    const std::string_view name = hlo::OpNameOf(module_, id);
    const std::string& front = in_front_[module_[id].computation.index];
    // Some frontends write them out.
    const bool is_whole = front.empty() || name.empty() ||
                          name.starts_with(std::string_view(front).substr(0, front.find('/') + 1));
    return is_whole ? std::string(name) : front + std::string(name);
  }

  static bool IsBackward(std::string_view name) { return name.contains("transpose("); }
  void Count(uint32_t scope, bool is_backward, double amount, int64_t operations) {
    for (uint32_t at = scope;; at = scopes_[at].parent) {
      scopes_[at].amount += amount;
      scopes_[at].backward += is_backward ? amount : 0;
      scopes_[at].operations += operations;
      if (at == 0) return;
    }
  }

  uint32_t Find(const hlo::Module& module, hlo::InstructionId id, std::string_view name) {
    uint32_t scope = 0;
    std::vector<std::string_view> words = NamedScopes(name);
    if (words.size() > kDeepestScope) words.resize(kDeepestScope);
    for (const std::string_view word : words) scope = Inside(scope, std::string(word));
    if (scope != 0) return scope;
    const graph::UserPlace place = graph::UserPlaceOf(module, id);
    if (place.is_function) return Inside(0, std::string(place.word) + "()");
    // Where frames are not known, one that the framework compiles by itself.
    const std::vector<std::string_view> functions = CompiledFunctions(name);
    return functions.empty() ? 0 : Inside(0, std::string(functions.front()) + "()");
  }

  uint32_t Inside(uint32_t scope, std::string word) {
    const auto [at, added] =
        scopes_[scope].inside.try_emplace(word, static_cast<uint32_t>(scopes_.size()));
    const uint32_t found = at->second;
    if (added) scopes_.push_back({.name = std::move(word), .parent = scope, .inside = {}});
    return found;
  }

  const hlo::Module& module_;
  std::vector<std::string> in_front_;
  std::vector<Scope> scopes_;
};

ScopeShare ShareOf(const ScopeTree::Scope& scope, const std::string& around) {
  return {.name = around + scope.name,
          .amount = scope.amount,
          .backward = scope.backward,
          .operations = scope.operations};
}

// "layer_" of "layer_12"; empty where no number ends it.
std::string_view StemOf(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size()) return {};
  return name.substr(0, last + 1);
}

// Layers of a stack as one, "layer_0 … layer_47".
void FoldRepeats(std::vector<ScopeShare>& shares) {
  std::map<std::string, std::vector<size_t>, std::less<>> alike;
  for (size_t k = 0; k < shares.size(); ++k) {
    if (const std::string_view stem = StemOf(shares[k].name); !stem.empty())
      alike[std::string(stem)].push_back(k);
  }
  std::vector<bool> gone(shares.size());
  for (const auto& [stem, all] : alike) {
    if (all.size() < kMinRepeats) continue;
    const auto number = [&, length = stem.size()](size_t k) {
      int64_t value = 0;
      const std::string& name = shares[k].name;
      std::from_chars(name.data() + length, name.data() + name.size(), value);
      return value;
    };
    const auto [first, last] = std::ranges::minmax(all, {}, number);
    ScopeShare sum{.name = fmt::format("{} … {}", shares[first].name, shares[last].name)};
    for (const size_t k : all) {
      sum.amount += shares[k].amount;
      sum.backward += shares[k].backward;
      sum.operations += shares[k].operations;
      gone[k] = true;
    }
    gone[all.front()] = false;
    shares[all.front()] = std::move(sum);
  }
  size_t k = 0;
  std::erase_if(shares, [&](const ScopeShare&) { return gone[k++]; });
}

std::vector<ScopeShare> Divided(const ScopeTree& tree) {
  std::vector<ScopeShare> shares;
  uint32_t whole = 0;
  std::string around;
  for (size_t depth = 0; depth <= kDeepestScope; ++depth) {
    const ScopeTree::Scope& scope = tree[whole];
    ScopeShare rest = ShareOf(scope, around);
    rest.is_rest = whole != 0;
    uint32_t next = 0;
    std::vector<ScopeShare> inside;
    const std::string prefix = whole == 0 ? "" : around + scope.name + "/";
    for (const auto& [name, id] : scope.inside) {
      const ScopeTree::Scope& each = tree[id];
      rest.amount -= each.amount;
      rest.backward -= each.backward;
      rest.operations -= each.operations;
      if (each.amount >= kNearlyAll * tree.root().amount && each.amount > 0 && !each.inside.empty())
        next = id;
      else
        inside.push_back(ShareOf(each, prefix));
    }
    FoldRepeats(inside);
    shares.insert(shares.end(), inside.begin(), inside.end());
    // Times and bytes are no whole numbers: what rounding leaves is nothing.
    if (rest.amount <= kRounding * tree.root().amount) rest.amount = 0;
    if (rest.backward <= kRounding * tree.root().amount) rest.backward = 0;
    if (rest.operations > 0 || rest.amount > 0) shares.push_back(std::move(rest));
    if (next == 0) break;
    around = prefix;
    whole = next;
  }
  std::ranges::stable_sort(shares, std::greater(), &ScopeShare::amount);
  return shares;
}

struct SharesKey {
  using Value = ScopeShares;
  int32_t module = -1;
  std::shared_ptr<const Contents> contents;
  auto operator<=>(const SharesKey&) const = default;
};

std::string PercentText(double part, double whole) {
  const double percent = 100 * part / whole;
  if (percent < 0.5) return "< 1 %";
  if (percent >= 99.5 && part < (1 - kRounding) * whole) return "> 99 %";
  return fmt::format("{:.0f} %", percent);
}

void FillSentences(ScopeShares& shares) {
  if (shares.whole <= 0) return;
  const std::string_view measure =
      shares.amounts == nullptr ? "operations" : HeatRowOf(shares.amounts->measure).title;
  std::string text;
  size_t said = 0;
  for (const ScopeShare& each : shares.scopes) {
    if (each.name.empty() || each.amount <= 0 || said == kMaxSaid) continue;
    const std::string name =
        SafeText(each.name, 60) + (each.is_rest ? " outside of its scopes" : "");
    const std::string percent = PercentText(each.amount, shares.whole);
    if (said == 0) {
      shares.head = fmt::format("Largest scope: {}, {} of {}", name, percent, measure);
      shares.brief_head = fmt::format("Largest scope: {}, {}", name, percent);
    }
    text += fmt::format("{}{} {}", said++ == 0 ? "" : ", ", name, percent);
    if (each.backward > 0)
      text += fmt::format(" ({} backward)", PercentText(each.backward, shares.whole));
  }
  if (text.empty()) return;
  const auto none = std::ranges::find_if(shares.scopes, &std::string::empty, &ScopeShare::name);
  if (none != shares.scopes.end() && none->amount > 0)
    text += ", no scope " + PercentText(none->amount, shares.whole);
  shares.sentence = fmt::format("Largest scope by {}: {}", measure, text);
}

}  // namespace

ScopeShares FindScopeShares(const hlo::Module& program, const StageKernels* kernels,
                            const Contents* contents) {
  ScopeTree tree(program);
  for (uint32_t i = 0; i < program.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (graph::IsOperation(program, id)) tree.Add(id, contents == nullptr ? 1 : 0, 1);
  }
  ScopeShares shares;
  if (contents != nullptr) {
    for (uint32_t k = 0; k < kernels->map.kernels.size(); ++k) {
      const double amount = contents->SumsOfKernel(k).total();
      const hlo::InstructionId owner = contents->OwnerOf(k);
      if (owner.valid()) {
        tree.Add(owner, amount, 0);
      } else {
        tree.AddOther(*kernels->module, kernels->map.kernels[k].instruction, amount);
      }
    }
    shares.amounts = contents->shared_amounts();
  }
  shares.whole = tree.root().amount;
  shares.scopes = Divided(tree);
  FillSentences(shares);
  return shares;
}

std::shared_ptr<const ScopeShares> ScopeSharesOf(Context& context) {
  const int32_t module = context.navigation.module();
  if (module < 0 || !context.document.dump().ready()) return nullptr;
  const dump::DumpModel& dump = *context.document.dump();
  if (dump.modules()[static_cast<size_t>(module)].stages.empty()) return nullptr;
  const int32_t stage = dump.FinalStage(module);
  const Pending<hlo::Module>& first = context.data.Module(module, 0);
  const Pending<ModuleFacts>& facts = FactsOf(context, module);
  if (first.waiting() || facts.waiting()) return nullptr;
  static const auto kNothing = std::make_shared<const ScopeShares>();
  if (!first.ready() || !facts.ready()) return kNothing;
  std::shared_ptr<const StageKernels> kernels;
  std::shared_ptr<const Contents> contents;
  if (facts->compiled) {
    kernels = CompiledKernelsOf(context, module);
    if (kernels == nullptr) return nullptr;
    std::shared_ptr<const SourceKernels> source;
    if (stage > 0) {
      source = SourceKernelsOf(context, module, stage, first.value, kernels->module, kernels);
      if (source == nullptr) return nullptr;
    }
    contents = ContentsOf(context, module, stage, first.value, kernels, source);
    if (contents == nullptr) return nullptr;
  }
  const Pending<ScopeShares>& made =
      context.cache.Get(SharesKey{module, contents}, "comparing scopes",
                        [program = first.value, kernels, contents](TaskControl&) {
                          return Computed<ScopeShares>(std::make_shared<ScopeShares>(
                              FindScopeShares(*program, kernels.get(), contents.get())));
                        });
  return made.ready() ? made.value : nullptr;
}

}  // namespace hloscope::viewer
