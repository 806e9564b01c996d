// Messages between two ranks with tags and "from any rank", which oneCCL has not: it delivers in order of sending.
//
// Each message is preceded by its tag and size. A receiver reads these first, then the rest to where it belongs: into the
// tensor that waits for this tag, or aside until one does.
#pragma once

#include <deque>

#include "engine.hpp"
#include "layout.hpp"

namespace icefield {

struct Header {
  int64_t tag;
  int64_t bytes;
};

constexpr int kAnyRank = -1;

class Mailbox {
 public:
  struct Wanted {
    int from;
    int64_t tag;
    at::Tensor room;
    int source = -1;
    bool done = false;
  };

  explicit Mailbox(std::shared_ptr<Group> group) : group_(std::move(group)), lines_(group_->size) {}

  std::function<bool()> begin_send(int to, int64_t tag, const at::Tensor& block) {
    auto letter = std::make_shared<Letter>(Letter{{tag, static_cast<int64_t>(block.nbytes())}, block});
    lines_[to].leaving.push_back(letter);
    push(lines_[to], to);
    return [this, letter, to] {
      push(lines_[to], to);
      return letter->done;
    };
  }

  std::function<bool()> begin_receive(const std::shared_ptr<Wanted>& wanted) {
    wanted_.push_back(wanted);
    return [this, wanted] {
      step();
      return wanted->done;
    };
  }

  // True while oneCCL may still write here: a message was asked for that did not come.
  bool expects() const {
    for (const auto& line : lines_) {
      if (line.event) return true;
    }
    return false;
  }

 private:
  struct Message {
    int64_t tag;
    at::Tensor bytes;
  };

  struct Letter {
    Header header;
    at::Tensor block;
    bool header_sent = false;
    bool done = false;
  };

  // What goes to one rank and comes from it. At most one event is open each way: the header's, or that of the rest.
  struct Line {
    std::deque<std::shared_ptr<Letter>> leaving;
    std::optional<ccl::event> sending;
    std::optional<ccl::event> event;
    bool in_header = false;
    Header header{};
    std::shared_ptr<Wanted> taker;  // null: the rest goes aside
    std::deque<Message> aside;
  };

  // One part after the other: oneCCL may start two sends to one rank in another order than they were posted.
  void push(Line& line, int to) {
    while (!line.leaving.empty()) {
      auto& letter = *line.leaving.front();
      if (line.sending) {
        if (!line.sending->test()) return;
        line.sending.reset();
        letter.done = letter.header_sent || letter.block.nbytes() == 0;
        letter.header_sent = true;
        if (letter.done) {
          line.leaving.pop_front();
          continue;
        }
      }
      void* const place = letter.header_sent ? letter.block.data_ptr() : &letter.header;
      const size_t bytes = letter.header_sent ? letter.block.nbytes() : sizeof(Header);
      line.sending = ccl::send(place, bytes, kBytes, to, *group_->communicator);
    }
  }

  void step() {
    for (int from = 0; from < group_->size; ++from) {
      if (from != group_->rank) move(lines_[from], from);
    }
  }

  void move(Line& line, int from) {
    while (true) {
      if (line.event) {
        if (!line.event->test()) return;
        line.event.reset();
        if (line.in_header) {
          line.in_header = false;
          open_rest(line, from);
          if (line.event) continue;
        }
        close_rest(line, from);
      }
      serve_from_aside(line, from);
      if (!anybody_wants(from)) return;
      line.in_header = true;
      line.event = ccl::recv(&line.header, sizeof(Header), kBytes, from, *group_->communicator);
    }
  }

  void open_rest(Line& line, int from) {
    line.taker = take(from, line.header.tag);
    void* place;
    if (line.taker) {
      check_size(*line.taker, line.header.bytes);
      place = line.taker->room.data_ptr();
    } else {
      line.aside.push_back({line.header.tag, at::empty({line.header.bytes}, at::kByte)});
      place = line.aside.back().bytes.data_ptr();
    }
    if (line.header.bytes > 0) {
      line.event = ccl::recv(place, line.header.bytes, kBytes, from, *group_->communicator);
    }
  }

  void close_rest(Line& line, int from) {
    if (line.taker) {
      line.taker->source = from;
      line.taker->done = true;
      line.taker.reset();
    }
  }

  void serve_from_aside(Line& line, int from) {
    for (auto message = line.aside.begin(); message != line.aside.end();) {
      auto taker = take(from, message->tag);
      if (!taker) {
        ++message;
        continue;
      }
      check_size(*taker, message->bytes.numel());
      if (message->bytes.numel() > 0) std::memcpy(taker->room.data_ptr(), message->bytes.data_ptr(), message->bytes.numel());
      taker->source = from;
      taker->done = true;
      message = line.aside.erase(message);
    }
  }

  bool anybody_wants(int from) const {
    for (const auto& wanted : wanted_) {
      if (wanted->from == from || wanted->from == kAnyRank) return true;
    }
    return false;
  }

  std::shared_ptr<Wanted> take(int from, int64_t tag) {
    for (auto at = wanted_.begin(); at != wanted_.end(); ++at) {
      if (((*at)->from == from || (*at)->from == kAnyRank) && (*at)->tag == tag) {
        auto found = *at;
        wanted_.erase(at);
        return found;
      }
    }
    return nullptr;
  }

  static void check_size(const Wanted& wanted, int64_t bytes) {
    TORCH_CHECK(static_cast<int64_t>(wanted.room.nbytes()) == bytes, "a message of ", bytes, " bytes came for a tensor of ",
                wanted.room.nbytes());
  }

  std::shared_ptr<Group> group_;
  std::vector<Line> lines_;
  std::deque<std::shared_ptr<Wanted>> wanted_;
};

}  // namespace icefield
