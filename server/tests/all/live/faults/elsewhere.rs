//! Faults of credentials, viewers and the store, which other tests play.

/// A fault, and the tests that play it.
pub struct Row {
    /// Its number in the list of faults.
    pub number: &'static str,
    /// What happens.
    pub fault: &'static str,
    /// What is promised.
    pub promise: &'static str,
    /// Names of test functions of this workspace.
    pub tests: &'static [&'static str],
}

pub const ROWS: &[Row] = &[
    Row {
        number: "F9",
        fault: "the token is refused, and the file that has it is written anew",
        promise: "the new token is taken up within 5 s, however long the old one was refused",
        tests: &[
            "a_token_that_is_written_anew_is_taken_up",
            "what_is_mended_after_a_minute_of_failures_is_taken_up_within_5_seconds",
            "refused_credentials_are_said_in_a_sentence",
        ],
    },
    Row {
        number: "F25",
        fault: "the command for credentials hangs",
        promise: "ended after 30 s, said and run again",
        tests: &["a_command_that_hangs_is_ended_and_tried_again"],
    },
    Row {
        number: "F25",
        fault: "the command for credentials fails, or its credentials are refused",
        promise: "said; run again less and less often",
        tests: &["a_command_that_answers_nothing_good_is_asked_less_and_less_often"],
    },
    Row {
        number: "F25",
        fault: "the command for credentials leaves the time of expiry out",
        promise: "run again once its token is refused",
        tests: &["a_command_is_asked_again_when_its_token_is_refused"],
    },
    Row {
        number: "F26",
        fault: "the client certificate has expired",
        promise: "said; the next one in the kubeconfig is taken up",
        tests: &["a_client_certificate_that_expired_is_said_and_the_next_one_of_the_kubeconfig_is_taken_up"],
    },
    Row {
        number: "F27",
        fault: "the certificate authority of the API server changes",
        promise: "said; the next one in the kubeconfig is taken up",
        tests: &["an_authority_that_changed_is_said_and_the_next_one_of_the_kubeconfig_is_taken_up"],
    },
    Row {
        number: "F28",
        fault: "the kubeconfig is written anew, with another server, with mistakes, or is removed",
        promise: "mistakes are said; a new server is listed from the start",
        tests: &[
            "a_cluster_that_moved_is_found_where_the_kubeconfig_says_and_listed_again",
            "what_is_wrong_with_the_kubeconfig_is_said_and_tried_again",
        ],
    },
    Row {
        number: "F28",
        fault: "with --all-contexts, a context appears in the kubeconfig, or goes",
        promise: "said on /status and in the log: a restart is needed",
        tests: &["contexts_that_appear_or_go_are_told_while_every_context_is_watched"],
    },
    Row {
        number: "F29",
        fault: "the proxy (HTTP, SOCKS) to the API server dies and comes back",
        promise: "said; live again without a restart",
        tests: &["a_proxy_that_dies_is_said_and_the_cluster_is_live_once_it_is_back"],
    },
    Row {
        number: "F30",
        fault: "a viewer takes a byte now and then",
        promise: "its connection is closed after a minute; others lose nothing",
        tests: &["who_takes_a_byte_now_and_then_is_hung_up_on_after_a_minute"],
    },
    Row {
        number: "F31",
        fault: "many viewers connect again at once",
        promise: "no request to a cluster, each frame encoded once; the streams of one client begin ten times a second",
        tests: &[
            "fifty_viewers_add_no_request_to_the_cluster_and_every_frame_is_encoded_once",
            "the_streams_of_one_client_begin_ten_times_a_second_together_and_hold_up_no_other",
            "a_broken_link_waits_longer_each_time_and_recovers",
        ],
    },
    Row {
        number: "F32",
        fault: "the machine of the server or of a viewer sleeps and wakes, or the server is stopped and goes on",
        promise: "connections are made anew at once; a gap begins before the sleep or stop, whatever waited for it",
        tests: &[
            "a_machine_slept_when_its_clock_passed_more_time_than_it_was_awake",
            "a_process_that_was_stopped_has_lost_its_connections_once",
            "the_time_in_which_the_process_was_stopped_is_a_gap_whatever_waited_for_it",
            "a_program_that_was_stopped_opens_its_watches_anew_when_it_goes_on",
            "waking_up_does_not_wait",
        ],
    },
    Row {
        number: "F33",
        fault: "a proxy cuts streams, or lets no frame through",
        promise: "the page says so within 10 s, and connects again",
        tests: &[
            "a_silent_server_is_told_within_ten_seconds_and_its_connection_given_up_later",
            "a_first_connection_that_is_swallowed_is_given_up",
        ],
    },
    Row {
        number: "F34",
        fault: "the server is killed at any moment",
        promise: "what is older than a second is stored, and nothing else",
        tests: &[
            "killed_at_any_moment_it_keeps_what_is_older_than_a_second_and_invents_nothing",
            "after_a_restart_everything_is_as_it_was_and_the_time_between_is_a_gap",
        ],
    },
    Row {
        number: "F35",
        fault: "the disk is full, read-only or slow",
        promise: "said; pages stay live, and writing goes on by itself",
        tests: &[
            "a_disk_that_is_full_is_said_and_what_happened_meanwhile_is_written_once_there_is_room",
            "a_disk_that_cannot_be_written_is_said_and_written_to_once_it_can",
            "a_store_that_does_not_answer_holds_nobody_up_and_what_was_missed_is_a_gap",
        ],
    },
    Row {
        number: "F36",
        fault: "the file of the history is damaged",
        promise: "put aside and said; another one is begun",
        tests: &[
            "a_damaged_file_is_put_aside_and_another_one_begun",
            "what_was_known_is_known_after_the_file_was_damaged_and_another_one_begun",
        ],
    },
];
