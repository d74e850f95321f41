#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Runs the MPI test programs of mpi/ with Open MPI: over Linnet, or over pml ob1 to show that the tests themselves are right.
"""Each program checks itself. A case passes when mpirun ends with 0 within its time and rank 0 said "ok". The programs are compiled when they
are older than their source. Exit status: 0 all passed, 1 a case failed, 2 wrong use, 77 nothing could be run here."""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "support"))
import leftovers   # noqa: E402  (found only through the path set above)
import open_mpi    # noqa: E402
import stolen      # noqa: E402

LAB = HERE.parent / "lab" / "lab"
SKIP = 77
RUNS = 3                # at most, of a case whose run shows nothing about Linnet
LONGEST_START = 30.0    # seconds that a process may take to come to its PML before it is taken to wait in PMIx_Init for ever


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    arguments: str = ""
    ranks: int = 2
    seconds: int = 120
    only: str = ""            # over these alone, as of --pml: ob1 has no such thing, or gets it wrong
    full: bool = False        # minutes, or much memory: only with --full or --only-full
    memory: int = 0           # GiB that must be free here, else it is skipped
    options: str = ""         # further mpirun options
    environment: str = ""     # NAME=VALUE
    before: str = ""          # a command that starts the program
    expect: str = ""          # what the output must say, a regular expression; default: rank 0's "ok PROGRAM"
    chosen: bool = True       # False: Linnet is there to be chosen, and Open MPI chooses by itself
    survives: bool = False    # a process is killed, and the others go on: mpirun's status says nothing
    here: bool = False        # not in a lab: shared memory only; or children of one spawn on several hosts, which Open MPI 4.1 cannot, whatever the PML
    apart: bool = False       # only in a lab, whose hosts have IPv6 addresses
    narrow: bool = False      # only in a lab with narrow ports and of as many hosts as ranks, a host each: with --narrow
    tcp: bool = False         # names transports itself, or waits for what only tcp says: not with --transports
    fails: bool = False       # the job must end with an error, and say what `expect` says
    slots: int = 0            # of each host of a lab; 0: as many as ranks need. More: for children
    pair: bool = False        # two jobs, of two mpiruns: `program accept FILE ARGUMENTS` and, with a rank more and in a lab on the other host, `program connect FILE ARGUMENTS`
    ofi: str = ""             # what Open MPI's mtl ofi does wrong here whatever the provider: left out with --pml ofi
    clocked: bool = False     # judged by time: for --clocked only
    within: float = 0.0       # seconds from "dying at TIME" in the output to the job's end, but for what a hypervisor took; 0: any

    @property
    def name(self):
        words = [self.program, self.arguments, f"on {self.ranks}", "and as many plus one" if self.pair else "", self.options, self.environment, self.before, "" if self.chosen else "no pml named"]
        return " ".join(word for word in words if word)


SKIPPED = r"eth: skipped, no interface can be used: eth0: "

CASES = [
    Case("modes", seconds=300, only="linnet,ofi"),
    Case("modes", "small", seconds=300, only="ob1"),
    Case("modes", ranks=4, seconds=600, full=True, only="linnet"),
    Case("self", ranks=1, seconds=200),
    Case("wildcards"),
    Case("wildcards", ranks=4),
    Case("probes"),
    Case("probes", ranks=4),
    Case("buffered"),
    Case("buffered", ranks=4),
    Case("cancel", "sends", only="linnet"),
    Case("cancel", only="ob1,ofi", ofi="MPI_Cancel of a send follows a pointer that only receives have"),
    Case("truncation", only="linnet,ofi", ofi="a status without the length"),
    Case("truncation", "short", ofi="a status without the length"),
    Case("ordering"),
    Case("ordering", ranks=4, seconds=240),
    Case("communicators"),
    Case("communicators", "500", ranks=4, seconds=240),
    Case("communicators", "20000", seconds=900, full=True),
    Case("intercomm", ranks=2),
    Case("intercomm", ranks=5),
    Case("testing", only="linnet"),
    Case("threads", seconds=300, ofi="an MPI_Ssend that MPI_Mrecv takes never ends"),
    Case("threads", "sends", seconds=300, only="ofi"),
    Case("threads", ranks=4, seconds=600, full=True),
    Case("flood"),
    Case("flood", "100000", seconds=600, full=True),
    Case("persistent", ofi="a strided send that is started again sends other bytes"),
    Case("completion"),
    Case("completion", ranks=4),
    Case("collectives", ranks=2),
    Case("collectives", ranks=4, seconds=240),
    Case("collectives", ranks=7, seconds=600, full=True),
    Case("neighbours", ranks=2),
    Case("neighbours", ranks=4),
    Case("neighbours", ranks=12, seconds=600, full=True),
    Case("finalize", "nothing", ranks=1),
    Case("finalize", "nothing", ranks=4),
    Case("finalize", "unreceived", ranks=4),
    Case("finalize", "last", ranks=4),
    Case("finalize", "early"),
    # Opt-in: without settings Open MPI looks at Linnet and takes another PML; a priority above that of pml ob1 makes it take Linnet.
    Case("finalize", "last", only="linnet", chosen=False, options="--mca pml_base_verbose 10 --mca mtl_base_verbose 10",
         expect=r"(?s)\A(?=.*component linnet selected)(?=.*component cm not selected)(?!.*component cm selected)(?=.*ok finalize)"),
    Case("finalize", "unreceived", only="linnet", chosen=False, options="--mca mtl_linnet_priority 21 --mca pml_base_verbose 10 --mca mtl_base_verbose 10",
         expect=r"(?s)\A(?=.*component linnet selected)(?=.*component cm selected)(?!.*component cm not selected)(?=.*ok finalize)"),
    Case("other_release", only="linnet", chosen=False, expect=r"linnet: built for .*standing aside\n[\s\S]*ok other_release"),
    Case("onesided", ranks=3, options="--mca osc pt2pt"),
    *(Case(program, ranks=3, only="ofi", options="--mca btl ofi,self --mca osc rdma") for program in ("onesided", "rma")),
    Case("spawn", here=True),
    Case("spawn", "1 5", slots=4),
    Case("spawn", ranks=3, here=True, only="linnet", options="--mca mtl_linnet_transports shm"),
    Case("connect", pair=True),
    Case("connect", pair=True, only="linnet", options="--mca mtl_linnet_transports shm,tcp", tcp=True),
    Case("connect", pair=True, here=True, only="linnet", options="--mca mtl_linnet_transports shm"),
    Case("intercomm", ranks=4, here=True, only="linnet", options="--mca mtl_linnet_transports shm"),
    # What a peer may have here unexpected, credit that has grown included, shall stay below what the program takes for a leak.
    Case("memory", options="--mca mtl_linnet_eager_credit 256k", ofi="strided data is packed whole before it is sent"),
    Case("life", "forks"),
    Case("life", "forks", ranks=4),
    Case("life", "signals"),
    # Silence kills nobody: it is said, and waited for.
    Case("life", "stop 5", only="linnet", options="-x LINNET_PEER_TIMEOUT=1s", expect=r"(?s)\A(?=.*has not answered for)(?!.*is lost)(?=.*ok life)"),
    Case("life", "stop 60", only="linnet", full=True, seconds=240, expect=r"(?s)\A(?=.*has not answered for)(?!.*is lost)(?=.*ok life)"),
    Case("counters", only="linnet"),
    # Idle cores help with what one rank copies out of another. Of two ranks one sleeps: its core is free, which "one rank here" says.
    Case("copies", "shared", here=True, only="linnet", options="--mca mtl_linnet_transports shm --mca mtl_linnet_local_ranks 1", tcp=True),
    Case("copies", "narrowed", here=True, only="linnet", options="--mca mtl_linnet_transports shm --mca mtl_linnet_local_ranks 1", tcp=True),
    Case("copies", "alone", here=True, only="linnet", options="--mca mtl_linnet_transports shm --mca mtl_linnet_tasks off", tcp=True),
    # Of two ranks one waits: its core is idle at times. The second transport carries nothing.
    *(Case("tasks", word, here=True, only="linnet", tcp=True,
           options=f"--mca mtl_linnet_transports tcp,udp --mca mtl_linnet_local_ranks 1 --mca mtl_linnet_tasks {word}") for word in ("on", "off")),
    Case("lazy", ranks=4, only="linnet", options="--mca mtl_linnet_transports tcp", tcp=True),
    Case("lazy", "shm", ranks=4, here=True, only="linnet", options="--mca mtl_linnet_transports shm", tcp=True),
    Case("reload", only="linnet", options="--mca mtl_linnet_finalize_timeout 7s"),
    # Nothing but IPv6.
    *(Case(program, ranks=ranks, only="linnet", apart=True, tcp=True, options="-x LINNET_NET_INCLUDE=fd00::/8 -x LINNET_LOG_LEVEL=info",
           expect=rf"(?s)\A(?=.*listening on fd[0-9a-f:]* port)(?!.*listening on [0-9]*\.)(?=.*ok {program})")
      for program, ranks in (("probes", 2), ("collectives", 4))),
    Case("beside", only="linnet", narrow=True, clocked=True),
    *(Case("incast", ranks=1 + senders, only="linnet", narrow=True, seconds=180) for senders in (4, 7)),
    # Raw Ethernet is named, and the processes may not open packet sockets: each says so, once, and what gives it to them; the next transport carries the job.
    *(Case(program, only="linnet", apart=True, tcp=True, before="setpriv --bounding-set=-net_raw --inh-caps=-net_raw",
           options=f"--mca mtl_linnet_transports eth,{left} -x LINNET_LOG_LEVEL=debug",
           expect=rf"(?s)\A(?=(?:.*{SKIPPED}[^\n]*CAP_NET_RAW: setcap cap_net_raw\+ep){{2}})(?!(?:.*{SKIPPED}){{3}})"
                  rf"(?!.*eth: lane link [^\n]* is up)(?=.*{left}: lane link [^\n]* is up)(?=.*ok {program})")
      for program, left in (("probes", "udp"), ("ordering", "tcp"))),
    # What cannot work is said before the job begins.
    Case("self", ranks=1, only="linnet", options="-x LINNET_CONNECT_TIMEOUT=soon", fails=True, expect=r"LINNET_CONNECT_TIMEOUT=soon .*is wrong", seconds=60),
    Case("self", ranks=1, only="linnet", options="-x LINNET_NET_INCLUDE=nosuchinterface0", tcp=True, fails=True, expect=r"net_include", seconds=60),
    Case("self", ranks=1, only="linnet", options="-x LINNET_EXPECTED_PEERS=16777216", tcp=True, fails=True, expect=r"descriptors are needed .*expected_peers", seconds=60),
    Case("self", ranks=1, only="linnet", environment="OMPI_MCA_mtl_linnet_eager_limit=", fails=True, expect=r"eager_limit= .*is wrong", seconds=60),
    Case("self", ranks=2, only="linnet", options="--mca mtl_linnet_transport shm", here=True,
         expect=r"(?s)\A(?=.*unknown MCA parameter mtl_linnet_transport ignored)(?!(?:.*unknown MCA parameter){2})(?=.*ok self)"),
    Case("huge", seconds=900, full=True, memory=10),
    # One process dies, or gives up, in the midst of work: the job ends at once, and the launcher says which rank it was, or a survivor that is faster.
    *(Case("death", f"{how} {work}", ranks=4, fails=True, within=5, seconds=60, options="--mca osc pt2pt" if work == "rma" else "",
           expect={"kill": r"rank 1 .*on signal 9", "abort": r"MPI_ABORT was invoked on rank 1",
                   "exit": r"Exit code: +7"}[how] + r"|linnet: peer rank 1\b.* is lost")
      for work in ("recv", "send", "collective", "rma") for how in ("kill", "abort", "exit") if how == "kill" or work in ("collective", "rma")),
    # Of those that were started later, or by another mpirun: both jobs end, and the dead process is named as above.
    Case("spawn", "2 kill", here=True, only="linnet", fails=True, within=5, seconds=60,
         expect=r"process rank 1 .* on signal 9|linnet: peer job \S+\.2 rank 1 .* is lost"),
    Case("connect", "kill", pair=True, only="linnet", fails=True, within=5, seconds=60,
         expect=r"(?s)\A(?=.*(?:process rank 2 [^\n]* on signal 9|linnet: peer rank 2 [^\n]* is lost))(?=.*linnet: peer job \S+ rank \d+ [^\n]* is lost)"),
    # Where the launcher lets the others live, their calls end with an error, and a line names the peer.
    *(Case("death", f"kill {work} survive", only="linnet", options="--enable-recovery", survives=True, seconds=60,
           expect=r"(?s)\A(?=.*linnet: peer rank 1\b[^\n]* is lost)(?=.*ok death)")
      for work in ("recv", "send", "collective", "pingpong", "probe", "mprobe", "iprobe", "bsend")),
]


def find_tool(variable, *names):
    for name in [os.environ.get(variable, "")] + list(names):
        path = shutil.which(name) if name else None
        if path and "Open MPI" in subprocess.run([path, "--showme:version" if "cc" in name else "--version"], capture_output=True,
                                                 text=True, check=False).stdout + "":
            return path
    return None


def component_folder():
    """Where Open MPI has its own components."""
    info = shutil.which("ompi_info") or "ompi_info"
    text = subprocess.run([info, "--parsable", "--path", "pkglibdir"], capture_output=True, text=True, check=True).stdout
    return re.search(r"^path:pkglibdir:(.*)$", text, re.MULTILINE).group(1)


def compile_programs(build, mpicc):
    build.mkdir(parents=True, exist_ok=True)
    headers = max(header.stat().st_mtime for header in (HERE / "mpi").glob("*.h"))
    for source in sorted((HERE / "mpi").glob("*.c")):
        program = build / source.stem
        if program.exists() and program.stat().st_mtime > max(headers, source.stat().st_mtime):
            continue
        subprocess.run([mpicc, "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-o", program, source, "-lpthread", "-lm"], check=True)


def transport_options(case, args):
    if args.pml == "ob1":
        return ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
    if args.pml == "ofi":
        settings = [f"FI_PROVIDER={args.provider}", *([f"FI_PROVIDER_PATH={args.provider_dir.resolve()}"] if args.provider_dir else []),
                    *([f"MPI_CHECK_TOP={args.top}"] if args.top and args.provider == "linnet" else []),
                    *([f"FI_LINNET_TRANSPORTS={args.transports}"] if args.transports else [])]
        return ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "opal_common_ofi_provider_include", args.provider,
                *(word for setting in settings for word in ("-x", setting))]
    options = ["--mca", "pml", "cm", "--mca", "mtl", "linnet"] if case.chosen else []
    options += ["--mca", "mtl_linnet_transports", args.transports] if args.transports else []
    if args.plugin_dir:
        options += ["--mca", "mca_base_component_path", f"{args.plugin_dir.resolve()}:{component_folder()}"]
    return options


def told_by_silence(case, args):
    """Settings for a death of which no launcher tells the survivors, and the seconds that these take: who waits for a message asks the peer after peer_timeout
    (by default 10 s), and a host without the process refuses that over UDP (answers()); over raw Ethernet only silence tells, after silence_timeout (10 minutes)."""
    last = args.transports.split(",")[-1]
    if last == "eth" and (case.survives or case.pair and case.fails):
        return ["--mca", "mtl_linnet_peer_timeout", "3s", "--mca", "mtl_linnet_silence_timeout", "10s"], 10
    if last == "udp" and case.pair and case.fails:
        return ["--mca", "mtl_linnet_peer_timeout", "3s"], 3
    return [], 0


def answers(case, args, gap):
    """Of a lab's hosts: tells who sends to no process at most once in `gap` ms, 0 for each time. With the kernel's 1000 (icmp_ratelimit, icmp(7)), which two
    survivors of three ranks share, `connect kill` takes 11 s instead of 4."""
    if args.lab and told_by_silence(case, args)[1]:
        for host in range(args.hosts):
            subprocess.run([*on_host(args, host), "sysctl", "-qw", f"net.ipv4.icmp_ratelimit={gap}", f"net.ipv6.icmp.ratelimit={gap}"], check=True)


def command_of(case, args):
    ours = transport_options(case, args) + [word for pair in args.mca for word in ("--mca", *pair.split("=", 1))]
    ours += case.options.split()
    ours += told_by_silence(case, args)[0]
    program = [*case.before.split(), str(args.build / case.program), *case.arguments.split()]
    if args.lab:
        hosts = args.hosts
        return [str(LAB), "mpirun", "-n", args.lab, "--ppn", str(case.slots or -(-case.ranks // hosts)), "-np", str(case.ranks), "--map-by", "node", *ours,
                "--", *program]
    return [args.mpirun, "-np", str(case.ranks), "--oversubscribe", "--bind-to", "none", *ours, *program]


def on_host(args, host):
    return [str(LAB), "exec", "-n", args.lab, f"h{host}", "--"] if args.lab else []


def meeting_place(case, args, out):
    """Starts what two mpiruns find each other's ports by; returns its process and the mpirun options that name it."""
    address = args.build / "ompi-server.uri"
    address.unlink(missing_ok=True)
    server = subprocess.Popen([*on_host(args, 0), "ompi-server", "--no-daemonize", "-r", str(address)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              env=environment_of(args, case), start_new_session=True)
    end_at = time.monotonic() + 20 * args.patience
    while not (address.exists() and address.stat().st_size) and time.monotonic() < end_at:
        time.sleep(0.1)
    return server, ["--ompi-server", f"file:{address}"]


def pair_of(case, args, meet):
    """The commands of the two jobs."""
    port = args.build / "port"
    port.unlink(missing_ok=True)
    for host, role in enumerate(("accept", "connect")):
        yield [*on_host(args, host), args.mpirun, *meet, "-np", str(case.ranks + host), "--oversubscribe", "--bind-to", "none",
               *transport_options(case, args), *[word for pair in args.mca for word in ("--mca", *pair.split("=", 1))], *case.options.split(),
               *told_by_silence(case, args)[0], str(args.build / case.program), role, str(port), *case.arguments.split()]


def environment_of(args, case):
    found = open_mpi.environment()
    if args.lab and case.pair:   # `lab mpirun` sees to it by itself
        found |= {"OMPI_MCA_oob_tcp_if_include": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0"}
    found.update(pair.split("=", 1) for pair in case.environment.split())
    return found


def run_pair(case, args, out):
    """Runs both jobs; returns the first status that is not 0, or 0. Neither outlives the other one's failure to end."""
    server, meet = meeting_place(case, args, out)
    jobs = []
    answers(case, args, 0)
    try:
        for command in pair_of(case, args, meet):
            out.write(" ".join(command) + "\n")
            out.flush()
            jobs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment_of(args, case),
                                         start_new_session=True))
        end_at = time.monotonic() + case.seconds * args.patience
        return next((status for status in [job.wait(max(0, end_at - time.monotonic())) for job in jobs] if status), 0)
    finally:
        for process in (*jobs, server):
            end(process)
        answers(case, args, 1000)


def end(process):
    """Ends a job that is over its time: mpirun first, which ends its ranks, then by force."""
    for signum, grace in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            if process.poll() is not None:
                return
            os.killpg(process.pid, signum)
            process.wait(grace)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def connections(lab, program):
    """What `ss -K` must be told to cut each TCP connection of the program on the lab's host h1."""
    listed = subprocess.run([str(LAB), "exec", "-n", lab, "h1", "--", "ss", "-Htnp", "state", "established"], capture_output=True, text=True,
                            check=False).stdout
    for line in listed.splitlines():
        fields = line.split()
        if f'("{program[:15]}"' in line and not fields[2].startswith("127."):
            yield ["sport", "=", fields[2].rsplit(":", 1)[1], "dport", "=", fields[3].rsplit(":", 1)[1]]


def cut(case, args):
    """Cuts the connections of the job."""
    for which in connections(args.lab, case.program):
        done = subprocess.run([str(LAB), "exec", "-n", args.lab, "h1", "--", "ss", "-HK", *which], capture_output=True, text=True, check=False)
        args.cuts += len(done.stdout.splitlines())   # ss names those that the kernel let it close


def pull(_, args):
    """Takes the link of host h1 away for two seconds."""
    def link(state):
        subprocess.run([str(LAB), "link", "-n", args.lab, "h1", state], capture_output=True, check=True)
    try:
        link("down")
        args.cuts += 1
        time.sleep(2)
    finally:
        link("up")


class NeverBegan(Exception):
    """A process of the job waits in PMIx_Init for ever, before it opens a PML: PMIx 4.2 loses an answer, over any PML (openpmix issues 2735, 2967)."""


def never_began(program):
    """The processes of the program that are old and have not opened a PML yet."""
    for pid in leftovers.processes(program):
        entry = pathlib.Path(f"/proc/{pid}")
        try:
            started = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
            if time.clock_gettime(time.CLOCK_BOOTTIME) - started > LONGEST_START and "/mca_pml_" not in (entry / "maps").read_text(encoding="utf-8"):
                yield pid
        except OSError:   # it is no more
            continue


def wait(case, args, process):
    """Waits for the job, and disturbs it again and again meanwhile if that is wanted. Returns mpirun's status."""
    end_at = time.monotonic() + case.seconds * args.patience
    while time.monotonic() < end_at:
        try:
            return process.wait(min(args.cut or args.pull or 5, max(0, end_at - time.monotonic())))
        except subprocess.TimeoutExpired:
            if args.cut or args.pull:
                (cut if args.cut else pull)(case, args)
            waits = list(never_began(args.build / case.program))
            if waits:
                raise NeverBegan(f"PMIx_Init of process {waits[0]} never ends") from None
    raise subprocess.TimeoutExpired(process.args, case.seconds)


def run_job(case, args, out):
    command = command_of(case, args)
    out.write(" ".join(command) + "\n")
    out.flush()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment_of(args, case),
                               start_new_session=True)
    try:
        return wait(case, args, process)
    finally:
        end(process)


def shows_nothing(wrong, text):
    """Whether a run failed by what is not Linnet's: mpirun 4.1 now and then loses a text of its own, and says so; a child may never come to MPI (NeverBegan)."""
    return re.search(r"ORTE_ERROR_LOG: .* in file \S*show_help", text) or wrong.startswith(NeverBegan.__name__)


def conditions(args):
    return ", ".join(word for word in (args.pml, args.transports, args.label) if word)


def cannot_run(case):
    """Why this machine is too small, or an empty string."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    free = int(re.search(r"^MemAvailable: +(\d+) kB", text, re.MULTILINE).group(1)) / (1 << 20)
    return f"needs {case.memory} GiB of free memory, there are {free:.1f}" if free < case.memory else ""


def run(case, args):
    """Returns what is wrong, or an empty string."""
    what = conditions(args)
    log = args.build / (re.sub(r"[^A-Za-z0-9]+", "-", f"{case.name} {what}").strip("-") + ".log")
    for left in reversed(range(RUNS)):
        begin = time.monotonic()
        wrong, text = run_once(case, args, log)
        again = wrong and left and shows_nothing(wrong, text)
        verdict = "AGAIN" if again else "FAIL" if wrong else "PASS"
        print(f"{verdict}: {case.name} ({what}, {time.monotonic() - begin:.1f} s){': ' + wrong if wrong else ''}", flush=True)
        if not again:
            break
    if wrong:
        lines = text.splitlines()
        said = [line for line in lines[:-12] if ": failed: " in line]   # what the others say of the job's end is more than a screen
        print("".join(f"    {line}\n" for line in said[:4] + lines[-12:]), f"    whole output: {log}", sep="", flush=True)
    return wrong


def run_once(case, args, log):
    """What is wrong, or an empty string, and the output, which also goes to the file `log`."""
    begin = time.monotonic()
    status, began = None, ""
    files_before = leftovers.files()
    with open(log, "w", encoding="utf-8") as out, stolen.Watch() as watch:
        try:
            status = run_pair(case, args, out) if case.pair else run_job(case, args, out)
        except subprocess.TimeoutExpired:
            pass
        except NeverBegan as fault:
            began = f"{NeverBegan.__name__}: {fault}"
        text = log.read_text(encoding="utf-8", errors="replace")
        died = re.search(r"dying at ([0-9.]+)", text)
        took = time.time() - float(died.group(1)) if died else 0.0
        taken = watch.since(float(died.group(1))) if died else 0.0
    wrong = ""
    if status is None:
        wrong = began or f"not over after {time.monotonic() - begin:.0f} s"
    elif (status != 0) != case.fails and not case.survives:
        wrong = f"mpirun ended with {status}"
    elif not re.search(case.expect or rf"^ok {case.program}", text, re.MULTILINE):
        wrong = f"it did not say {case.expect or 'ok'}"
    elif case.within and (not died or took - taken > case.within * args.patience + told_by_silence(case, args)[1]):
        wrong = f"over {took:.1f} s after the death, of which the hypervisor took {taken:.1f} s" if died else "nobody died"
    elif died:
        wrong = leftovers.of(lambda: leftovers.processes(args.build / case.program), files_before)
    return wrong, text


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pml", choices=("linnet", "ob1", "ofi"), default="linnet",
                        help="what carries the messages: mtl linnet (the default), Open MPI's own TCP, or mtl ofi over the libfabric provider")
    parser.add_argument("--provider", default="linnet", metavar="NAME", help="with --pml ofi: the provider (default: linnet); others show whose a fault is")
    parser.add_argument("--provider-dir", type=pathlib.Path, help="folder of liblinnet-fi.so, when libfabric does not look there")
    parser.add_argument("--top", default=shutil.which("linnet-top"), metavar="FILE",
                        help="with --pml ofi: linnet-top, which shows what carried one-sided operations (default: from the path)")
    parser.add_argument("--plugin-dir", type=pathlib.Path, help="folder of mca_mtl_linnet.so, when it is not installed")
    parser.add_argument("--lab", metavar="NAME", help="run across the hosts of this lab (tests/lab) instead of on this host")
    parser.add_argument("--hosts", type=int, default=2, help="how many hosts the lab has (default: 2)")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("mpi-tests"), help="folder for programs and output")
    parser.add_argument("--mca", action="append", default=[], metavar="NAME=VALUE", help="further MCA parameter; may be repeated")
    parser.add_argument("--patience", type=float, default=1.0, help="multiplies every time limit (default: 1)")
    parser.add_argument("--full", action="store_true", help="the long cases too: minutes, and 10 GiB of memory")
    parser.add_argument("--only-full", action="store_true", help="the long cases alone")
    parser.add_argument("-k", dest="select", default="", metavar="REGEX", help="only the cases whose name matches")
    parser.add_argument("--clocked", choices=("only", "without"),
                        help="only the cases judged by time, for which nothing else should run here, or all the others (default: both)")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="append a line per case: verdict, program, case, reason")
    parser.add_argument("--cut", type=float, default=0.0, metavar="SECONDS",
                        help="with --lab: cut all TCP connections of the program on host h1 every so often; nothing may be lost or doubled")
    parser.add_argument("--transports", default="", metavar="LIST", help="Linnet's setting of this name; cases that are about tcp are left out")
    parser.add_argument("--pull", type=float, default=0.0, metavar="SECONDS",
                        help="with --lab: take the link of host h1 away for two seconds every so often; nothing may be lost or doubled")
    parser.add_argument("--narrow", action="store_true", help="the cases for a lab whose ports hold less than what is sent (incast.sh, tcp_beside.sh), and no others")
    parser.add_argument("--label", default="", help="what else is true of this run, for its output and results")
    parser.add_argument("--list", action="store_true", help="only list them")
    args = parser.parse_args(argv)
    args.build = args.build.resolve()
    args.cuts = 0
    if (args.cut or args.pull or args.narrow) and not args.lab:
        parser.error("--cut, --pull and --narrow need --lab")
    return args


def is_meant(case, args):
    right_time = args.clocked is None or (args.clocked == "only") == (case.clocked or bool(case.within))
    right_place = not (case.here and args.lab) and not (case.apart and not args.lab) and case.narrow == args.narrow and not (case.narrow and args.hosts != case.ranks)
    right_stack = (not case.only or args.pml in case.only.split(",")) and not (case.ofi and args.pml == "ofi") and not (case.tcp and args.transports)
    right_length = args.full or args.only_full == case.full
    return right_time and right_place and right_stack and right_length and re.search(args.select, case.name)


def main(argv):
    args = parse(argv)
    cases = [case for case in CASES if is_meant(case, args)]
    if args.list:
        print("\n".join(case.name for case in cases))
        return 0
    args.mpirun = find_tool("OMPI_MPIRUN", "mpirun.openmpi", "mpirun")
    mpicc = find_tool("OMPI_MPICC", "mpicc.openmpi", "mpicc")
    if not args.mpirun or not mpicc or not cases:
        print("SKIP: no Open MPI, or no such case")
        return SKIP
    compile_programs(args.build, mpicc)
    count = {"pass": 0, "fail": 0, "skip": 0}
    for case in cases:
        verdict, why = "skip", cannot_run(case)
        if why:
            print(f"SKIP: {case.name} ({conditions(args)}): {why}", flush=True)
        else:
            why = run(case, args)
            verdict = "fail" if why else "pass"
        count[verdict] += 1
        if args.results:
            with open(args.results, "a", encoding="utf-8") as table:
                print(verdict, "run_mpi", f"{case.name} ({conditions(args)})", why, sep="\t", file=table)
    print(f"{count['pass']} of {len(cases)} passed" + (f", {count['skip']} skipped" if count["skip"] else ""))
    if args.pull:
        print(f"the link was away {args.cuts} times")
        if args.cuts == 0:
            print("FAIL: no case took long enough for it")
            return 1
    if args.cut:
        print(f"{args.cuts} connections were cut")
        if args.cuts == 0:
            print("FAIL: nothing was cut: does the kernel let ss -K (CONFIG_INET_DIAG_DESTROY)?")
            return 1
    return 1 if count["fail"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
