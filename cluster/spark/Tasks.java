package flowrun;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * Runs the tasks of a job on Spark, stage by stage: each is a process, {@code flowrun worker DIR STAGE TASK}. Spark decides
 * where and when, and runs a task again whose machine is lost; rows never come here.
 *
 * <p>Arguments: the exit codes of a worker that another attempt would end with, too, the working directory, the words in
 * front of STAGE, "--", those behind TASK. Lines come in and go out as cluster/helper_tasks.h says. The end of the input
 * ends the job, and all of its tasks.
 */
public final class Tasks {
  private static final String STAGE = "flowrun.stage";
  private static final String TASKS = "flowrun.tasks";
  private static final int MOST_SAID = 16384; // bytes of what a worker has said
  private static final int MOST_SECONDS_TO_END = 5;

  private Tasks() {}

  public static void main(String[] args) throws Exception {
    final int gap = Arrays.asList(args).indexOf("--");
    final Work work =
        new Work(
            new HashSet<>(Arrays.asList(args[0].split(","))),
            args[1],
            new ArrayList<>(Arrays.asList(args).subList(2, gap)),
            new ArrayList<>(Arrays.asList(args).subList(gap + 1, args.length)));
    final JavaSparkContext spark = new JavaSparkContext(new SparkConf());
    final Attempts attempts = new Attempts();
    spark.sc().addSparkListener(attempts);
    final ExecutorService stages = Executors.newSingleThreadExecutor();
    final AtomicInteger unfinished = new AtomicInteger();
    say("ready");
    // Stages run beside this thread, which hears that the driver has ended.
    final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      final List<String> words = Arrays.asList(line.split(" "));
      unfinished.incrementAndGet();
      stages.execute(
          () -> {
            runStage(spark, work, words.get(0), new ArrayList<>(words.subList(1, words.size())));
            unfinished.decrementAndGet();
          });
    }
    // The driver takes down what tasks would still write into.
    final long latest = System.nanoTime() + MOST_SECONDS_TO_END * 1_000_000_000L;
    while ((unfinished.get() > 0 || attempts.running() > 0) && System.nanoTime() < latest) {
      spark.sc().cancelAllJobs();
      Thread.sleep(20);
    }
    say("over");
    endSoon();
    System.exit(0);
  }

  /** Spark ends its part of the job on the way out, and may wait for machines that are gone. */
  private static void endSoon() {
    final Thread last =
        new Thread(
            () -> {
              try {
                Thread.sleep(MOST_SECONDS_TO_END * 1000L);
              } catch (InterruptedException now) {
                // It ends now.
              }
              Runtime.getRuntime().halt(0);
            });
    last.setDaemon(true);
    last.start();
  }

  private static void runStage(JavaSparkContext spark, Work work, String stage, List<String> tasks) {
    try {
      // A task that is cancelled is interrupted, and ends its worker.
      spark.setJobGroup("flowrun", "stage " + stage, true);
      spark.setLocalProperty(STAGE, stage);
      spark.setLocalProperty(TASKS, String.join(" ", tasks));
      final List<String> ends =
          spark.parallelize(tasks, tasks.size()).map(task -> work.run(stage, task)).collect();
      for (int i = 0; i < ends.size(); ++i) {
        if (!ends.get(i).isEmpty()) {
          say("ended " + stage + " " + tasks.get(i) + " " + ends.get(i));
        }
      }
      say("end " + stage);
    } catch (Exception problem) {
      waitForTold(spark);
      // It stops itself for a master that doesn't answer, and for one that has lost the job: the log says why.
      final String why = String.valueOf(problem.getMessage()).split("\n")[0];
      say(spark.sc().isStopped() ? "lost" : "failed " + stage + " " + why);
    }
  }

  /** Until the listener has heard of what has happened so far. */
  private static void waitForTold(JavaSparkContext spark) {
    try {
      spark.sc().listenerBus().waitUntilEmpty(2000);
    } catch (Exception tooLong) {
      // What it would have said is missing, and the failure of the stage isn't.
    }
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static String oneLine(String text) {
    return text.strip().replace('\n', '\r');
  }

  /** In an executor. */
  private static final class Work implements java.io.Serializable {
    private static final long serialVersionUID = 1L;
    private final HashSet<String> lasting;
    private final String directory;
    private final ArrayList<String> before;
    private final ArrayList<String> after;

    Work(HashSet<String> lasting, String directory, ArrayList<String> before, ArrayList<String> after) {
      this.lasting = lasting;
      this.directory = directory;
      this.before = before;
      this.after = after;
    }

    /** Empty where the task is done; else the exit code of the worker, its host, and what it has said. */
    String run(String stage, String task) throws Exception {
      final String host = SparkEnv.get().blockManager().blockManagerId().host();
      if (!new File(before.get(0)).canExecute()) {
        throw new Failure("there is no program " + before.get(0));
      }
      if (!new File(directory).isDirectory()) {
        throw new Failure("there is no directory " + directory + ", in which the command was started");
      }
      final List<String> command = new ArrayList<>(before);
      command.addAll(List.of(stage, task));
      command.addAll(after);
      command.addAll(List.of("--host", host));
      // Its standard input is a pipe that ends with this process, and so does the worker.
      final Process worker =
          new ProcessBuilder(command)
              .directory(new File(directory))
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      final Listening said = new Listening(worker.getErrorStream());
      try {
        final int code = worker.waitFor();
        if (code == 0) {
          return "";
        }
        final String words = oneLine(said.words());
        if (lasting.contains(String.valueOf(code))) {
          return code + " " + host + " " + words;
        }
        throw new Failure(words.isEmpty() ? "its worker ended with exit code " + code : words);
      } finally {
        // Another attempt was first, or the job is over. When the task has ended, its worker writes nothing more.
        worker.destroyForcibly();
        while (worker.isAlive()) {
          try {
            worker.waitFor();
          } catch (InterruptedException again) {
            // It was killed, and doesn't take long.
          }
        }
      }
    }
  }

  /** What is to be told of an attempt: its message is in one line. */
  private static final class Failure extends Exception {
    private static final long serialVersionUID = 1L;

    Failure(String message) {
      super(message);
    }
  }

  /** The beginning of what a worker says on standard error; all of it goes to the log of the executor. */
  private static final class Listening extends Thread {
    private final InputStream from;
    private final ByteArrayOutputStream heard = new ByteArrayOutputStream();

    Listening(InputStream from) {
      this.from = from;
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      final byte[] buffer = new byte[4096];
      try {
        for (int got = from.read(buffer); got >= 0; got = from.read(buffer)) {
          System.err.write(buffer, 0, got);
          System.err.flush();
          synchronized (heard) {
            heard.write(buffer, 0, Math.min(got, MOST_SAID - heard.size()));
          }
        }
      } catch (IOException ended) {
        // The worker was killed.
      }
    }

    /** Of a worker that has ended. */
    String words() throws InterruptedException {
      join(1000);
      synchronized (heard) {
        return heard.toString(StandardCharsets.UTF_8);
      }
    }
  }

  /** Tells attempts that have failed, which Spark may try again, and knows how many are at work. */
  private static final class Attempts extends SparkListener {
    private final Map<Integer, String> stages = new HashMap<>(); // by Spark's number: ours, and its tasks
    private final Set<Long> running = new HashSet<>();

    synchronized int running() {
      return running.size();
    }

    @Override
    public synchronized void onJobStart(SparkListenerJobStart job) {
      final String words = job.properties().getProperty(STAGE) + " " + job.properties().getProperty(TASKS);
      job.stageInfos().foreach(info -> stages.put(info.stageId(), words));
    }

    @Override
    public synchronized void onTaskStart(SparkListenerTaskStart start) {
      running.add(start.taskInfo().taskId());
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
      running.remove(end.taskInfo().taskId());
      final String[] words = stages.getOrDefault(end.stageId(), "").split(" ");
      final int at = end.taskInfo().index() + 1;
      if (at < words.length && end.reason() instanceof ExceptionFailure) {
        final ExceptionFailure failure = (ExceptionFailure) end.reason();
        final boolean isOurs = failure.className().equals(Failure.class.getName());
        final String why = (isOurs ? "" : failure.className() + ": ") + failure.description();
        say("tried " + words[0] + " " + words[at] + " " + end.taskInfo().host() + " " + oneLine(why));
      }
    }
  }
}
