// The rows of a program: which there are, what is open, what each stands for.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/labels.h"
#include "core/hlo/analysis/call_graph.h"
#include "viewer/graph/contents_pane.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::NodeKind;

constexpr size_t kMaxHits = 20'000;  // that are marked
constexpr size_t kMaxOpenedRows = 2000;
constexpr int kDeepest = 64;
constexpr const char* kUnassigned = "not traced to an operation";

constexpr int kDeepestWhole = 4;

// By computation: the instructions in it and in all that it calls first.
std::vector<size_t> InstructionsBelow(const hlo::Module& module) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  std::vector<size_t> below(module.computations().size());
  for (const hlo::ComputationId c : calls.callees_first()) {
    const hlo::Computation& computation = module[c];
    below[c.index] += computation.instruction_count;
    const hlo::InstructionId caller = calls.FirstCaller(c);
    if (caller.valid()) below[module[caller].computation.index] += below[c.index];
  }
  return below;
}

}  // namespace

ContentSums ContentsPane::SumsOf(const Row& row) const {
  if (contents_ == nullptr) return {};
  if (row.node.valid()) return contents_->Of(data_->graph.tree(), row.node);
  return row.kernel == graph::kNoKernel ? contents_->unassigned_sums()
                                        : contents_->SumsOfKernel(row.kernel);
}

// The kernel of a row that has only one.
uint32_t ContentsPane::KernelOf(const Row& row, const ContentSums& sums) const {
  if (!row.node.valid()) return row.kernel;
  const graph::Node& node = data_->graph.tree()[row.node];
  if (sums.launches() == 1) return sums.kernel;
  return node.kind == NodeKind::kInstruction && sums.launches() == 0 ? paint_.Of(node.instruction)
                                                                     : graph::kNoKernel;
}

std::string ContentsPane::NameOf(const Row& row) const {
  if (row.node.valid()) return SafeText(graph::RowTitle(data_->graph.tree(), row.node), 200);
  return row.kernel == graph::kNoKernel ? kUnassigned : NameOfKernel(*paint_.kernels, row.kernel);
}

bool ContentsPane::CanOpen(const Row& row) const {
  if (!row.node.valid()) return row.kernel == graph::kNoKernel;
  const graph::Tree& tree = data_->graph.tree();
  return tree[row.node].kind != NodeKind::kInstruction || tree.IsBody(row.node);
}

bool ContentsPane::IsOpen(const Row& row) const {
  if (!row.node.valid()) return lists_unassigned_;
  return row.node.index < open_.size() && open_[row.node.index];
}

void ContentsPane::Toggle(const Row& row) {
  stale_ = true;
  if (!row.node.valid()) {
    lists_unassigned_ = !lists_unassigned_;
    return;
  }
  const bool was = IsOpen(row);
  data_->graph.Expand(row.node);
  open_.resize(data_->graph.tree().size());
  open_[row.node.index] = !was;
}

void ContentsPane::FillRows() {
  stale_ = false;
  FindHits();
  rows_.clear();
  const graph::Tree& tree = data_->graph.tree();
  std::vector<Row> pending;
  const auto push = [&](NodeId group, int depth) {
    std::vector<NodeId> children(tree.children(group).begin(), tree.children(group).end());
    // Scopes begin early with what they need only later: where most of them is tells more.
    if (contents_ != nullptr) {
      std::ranges::stable_sort(children, {}, [&](NodeId child) {
        const ContentSums& sums = contents_->Of(tree, child);
        const double first = order_ == Order::kAmount ? -sums.total()
                             : order_ == Order::kPeak ? -sums.peak
                                                      : 0;
        return std::pair(first, sums.middle());
      });
    }
    for (size_t k = children.size(); k-- > 0;)
      pending.push_back({children[k], graph::kNoKernel, depth});
  };
  push(tree.root(), 0);
  while (!pending.empty()) {
    const Row row = pending.back();
    pending.pop_back();
    rows_.push_back(row);
    if (IsOpen(row)) push(row.node, row.depth + 1);
  }
  most_ = 0;
  if (contents_ == nullptr) return;
  if (!contents_->unassigned().empty() || contents_->unassigned_sums().peak > 0) {
    rows_.push_back({NodeId(), graph::kNoKernel, 0});
    if (lists_unassigned_) {
      for (uint32_t kernel : contents_->unassigned()) rows_.push_back({NodeId(), kernel, 1});
    }
  }
  // The scale of the bars is that of the outermost scopes, whatever is open.
  for (NodeId child : tree.children(tree.root()))
    most_ = std::max(most_, contents_->Of(tree, child).total());
  most_ = std::max(most_, contents_->unassigned_sums().total());
}

void ContentsPane::FindHits() {
  found_.clear();
  if (hits_ == nullptr) return;
  const auto& all = hits_->instructions;
  for (hlo::InstructionId id : std::span(all).first(std::min(all.size(), kMaxHits)))
    found_.insert(RowOf(id).index);
}

// A program that is one call or loop (shard_map, a scan over all layers) has its scopes inside.
void ContentsPane::OpenWhole() {
  const hlo::Module& module = *data_->module;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  const std::vector<size_t> below = InstructionsBelow(module);
  const auto is_whole = [&](hlo::InstructionId id) {
    size_t inside = 0;
    for (const hlo::Call& call : calls.calls(id))
      inside += calls.FirstCaller(call.callee) == id ? below[call.callee.index] : 0;
    return 2 * inside > module.instructions().size();
  };
  for (;;) {
    FillRows();
    const graph::Tree& tree = data_->graph.tree();
    const auto whole = std::ranges::find_if(rows_, [&](const Row& row) {
      return row.node.valid() && !IsOpen(row) && row.depth < kDeepestWhole &&
             tree.IsBody(row.node) && is_whole(tree[row.node].instruction);
    });
    if (whole == rows_.end()) return;
    Toggle(Row(*whole));
  }
}

// Opens as much as there is room for: scopes that divide, then those of most operations.
void ContentsPane::OpenLargest(size_t rows, int depth) {
  const graph::Tree& tree = data_->graph.tree();
  const auto order = [&](NodeId id) {
    const auto groups = std::ranges::count_if(tree.children(id), [&](NodeId child) {
      return tree[child].kind != NodeKind::kInstruction;
    });
    return std::pair(groups > 1, tree[id].instructions);
  };
  for (;;) {
    FillRows();
    const Row* best = nullptr;
    for (const Row& row : rows_) {
      if (!row.node.valid() || IsOpen(row) || tree[row.node].kind == NodeKind::kInstruction ||
          (tree[row.node].kind == NodeKind::kRepeat && depth < kDeepest) || row.depth >= depth ||
          rows_.size() + tree[row.node].child_count > rows)
        continue;
      if (best == nullptr || order(row.node) > order(best->node)) best = &row;
    }
    if (best == nullptr) return;
    Toggle(*best);
  }
}

// Scopes of the outermost levels, then deeper ones while there is room. Where most of it is empty
// then, because no scope fits as a whole, the last is opened: what is in it pushes nothing else out
// of view.
void ContentsPane::OpenToFill(size_t rows) {
  constexpr int kOuterLevels = 2, kInnerLevels = 6;
  for (int depth = kOuterLevels; depth <= kInnerLevels; ++depth) OpenLargest(rows, depth);
  if (2 * rows_.size() > rows || rows_.empty()) return;
  const Row last = rows_.back();
  if (!last.node.valid() || IsOpen(last)) return;
  const NodeKind kind = data_->graph.tree()[last.node].kind;
  if (kind != NodeKind::kScope && kind != NodeKind::kPart) return;
  Toggle(last);
  FillRows();
}

// The row that stands for an instruction of the program, or of what it calls.
NodeId ContentsPane::RowOf(hlo::InstructionId id) const {
  const graph::Tree& tree = data_->graph.tree();
  for (size_t steps = 0; id.valid() && steps <= data_->callers.size(); ++steps) {
    if (const NodeId leaf = tree.Find(id); leaf.valid() && tree[leaf].parent.valid())
      return tree.Visible(leaf,
                          [this](NodeId up) { return up.index == 0 || IsOpen(Row{up, {}, 0}); });
    id = data_->callers[(*data_->module)[id].computation.index];
  }
  return {};
}

size_t ContentsPane::FindRow(NodeId node) const {
  const auto at = std::ranges::find(rows_, node, &Row::node);
  return node.valid() ? static_cast<size_t>(at - rows_.begin()) : rows_.size();
}

void ContentsPane::CloseAll() {
  open_.assign(open_.size(), false);
  stale_ = true;
}

void ContentsPane::SwitchOrder(Order order) {
  order_ = order_ == order ? Order::kProgram : order;
  stale_ = true;
}

void ContentsPane::OpenAll() {
  if (data_ != nullptr) OpenLargest(kMaxOpenedRows, kDeepest);
}

ContentEvents ContentsPane::Step(Command command) {
  ContentEvents events;
  if (data_ == nullptr || rows_.empty()) return events;
  size_t at = FindRow(focus_);
  const bool is_known = at < rows_.size();
  if (!is_known) at = 0;
  const Row row = rows_[at];
  switch (command) {
    case Command::kGraphUp:
      at -= at > 0 && is_known ? 1 : 0;
      break;
    case Command::kGraphDown:
      at += at + 1 < rows_.size() && is_known ? 1 : 0;
      break;
    case Command::kGraphRight:
      if (CanOpen(row) && !IsOpen(row)) Toggle(row);
      return events;
    case Command::kGraphLeft:
      if (IsOpen(row)) {
        Toggle(row);
        return events;
      }
      while (at > 0 && rows_[at].depth >= row.depth) --at;
      break;
    default:
      events.drawn = row.node;
      return events;
  }
  events.chosen = focus_ = rows_[at].node;
  return events;
}

std::string ContentsPane::Csv() const {
  std::string out = "depth,name,operations,kernels,became,amount,bytes,flops,peak_bytes\n";
  for (const Row& row : rows_) {
    const ContentSums sums = SumsOf(row);
    const uint32_t kernel = KernelOf(row, sums);
    out += fmt::format(
        "{},{},{},{},{},{:.0f},{:.0f},{:.0f},{:.0f}\n", row.depth, CsvCell(NameOf(row)),
        sums.operations, sums.launches(),
        kernel == graph::kNoKernel ? std::string() : CsvCell(NameOfKernel(*paint_.kernels, kernel)),
        sums.total(), sums.bytes, sums.flops, sums.peak);
  }
  return out;
}

}  // namespace hloscope::viewer
