// The job's services as the nodes of a body see them: what they report has the name of the body in front.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/exec/services.h"
#include "engine/io/joint_output.h"

namespace flowrun::exec {

class nested_services final : public services {
 public:
  nested_services(services& job, std::string path) : job_(job), path_(std::move(path)) {}
  record::batch_pool& pool() override { return job_.pool(); }
  io::backend& backend() override { return job_.backend(); }
  block::block_manager& blocks() override { return job_.blocks(); }
  unsigned threads() const override { return job_.threads(); }
  const job_options& options() const override { return job_.options(); }
  bool cancelled() const override { return job_.cancelled(); }
  void spawn(std::function<void()> work) override { job_.spawn(std::move(work)); }
  void commit_at_end(std::unique_ptr<io::joint_output> output) override { job_.commit_at_end(std::move(output)); }
  void report_value(const std::string& node, const std::string& name, const std::string& value) override {
    job_.report_value(path_ + "." + node, name, value);
  }
  std::shared_ptr<const void> kept(const std::string& name, const maker& make) override {
    std::shared_ptr<const void>& one = kept_[name];
    if (one == nullptr) one = make();
    return one;
  }
  void forget_kept() { kept_.clear(); }
  void warn(const std::string& text) override { job_.warn(text); }

 private:
  services& job_;
  const std::string path_;
  std::map<std::string, std::shared_ptr<const void>> kept_;
};

}  // namespace flowrun::exec
