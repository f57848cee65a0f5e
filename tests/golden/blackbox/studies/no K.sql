--
-- PostgreSQL database dump
--

\restrict oH2o3qBKJdVGWTykGK9vd64XqLh7QqycG47AOIG37bbq0dnUCQnsHfXepzKnsVe

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: kabc_draws; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_draws (
    ticket bigint NOT NULL,
    worker bigint NOT NULL,
    rows bytea NOT NULL,
    started double precision NOT NULL,
    ended double precision NOT NULL
);


--
-- Name: kabc_late; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_late (
    id bigint NOT NULL,
    ticket bigint NOT NULL,
    lease bigint NOT NULL,
    worker bigint NOT NULL,
    rows bytea NOT NULL,
    started double precision NOT NULL,
    ended double precision NOT NULL,
    n_paid bigint NOT NULL
);


--
-- Name: kabc_late_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_late_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_late_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_late_id_seq OWNED BY public.kabc_late.id;


--
-- Name: kabc_notes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_notes (
    id bigint NOT NULL,
    study bigint NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    written double precision NOT NULL,
    token text NOT NULL
);


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_notes_id_seq OWNED BY public.kabc_notes.id;


--
-- Name: kabc_rounds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_rounds (
    study bigint NOT NULL,
    number bigint NOT NULL,
    opened double precision NOT NULL
);


--
-- Name: kabc_snapshots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_snapshots (
    study bigint NOT NULL,
    number bigint NOT NULL,
    content bytea NOT NULL
);


--
-- Name: kabc_studies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_studies (
    id bigint NOT NULL,
    name text NOT NULL,
    spec text NOT NULL,
    state text NOT NULL,
    created double precision NOT NULL,
    revision bigint NOT NULL,
    changed double precision NOT NULL,
    facts text,
    limits text NOT NULL,
    answer text,
    n_rounds bigint NOT NULL,
    latest bigint NOT NULL,
    counted bigint NOT NULL,
    step_worker text NOT NULL,
    step_expires double precision NOT NULL,
    token text NOT NULL
);


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_studies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_studies_id_seq OWNED BY public.kabc_studies.id;


--
-- Name: kabc_tickets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_tickets (
    id bigint NOT NULL,
    study bigint NOT NULL,
    round bigint NOT NULL,
    place bigint NOT NULL,
    arm bigint NOT NULL,
    piece bigint NOT NULL,
    start bigint NOT NULL,
    count bigint NOT NULL,
    state bigint NOT NULL,
    lease bigint NOT NULL,
    worker bigint,
    expires double precision NOT NULL,
    deaths bigint NOT NULL,
    n_paid bigint NOT NULL,
    token text
);


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_tickets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_tickets_id_seq OWNED BY public.kabc_tickets.id;


--
-- Name: kabc_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_tokens (
    id bigint NOT NULL,
    label text NOT NULL,
    scope text NOT NULL,
    digest text NOT NULL,
    created double precision NOT NULL,
    expires double precision
);


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_tokens_id_seq OWNED BY public.kabc_tokens.id;


--
-- Name: kabc_totals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_totals (
    study bigint NOT NULL,
    arm bigint NOT NULL,
    n_samples bigint NOT NULL,
    n_paid bigint NOT NULL
);


--
-- Name: kabc_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: kabc_workers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_workers (
    id bigint NOT NULL,
    study bigint NOT NULL,
    name text NOT NULL,
    facts text,
    first_seen double precision NOT NULL,
    last_seen double precision NOT NULL,
    changes bigint NOT NULL,
    changed double precision NOT NULL,
    round bigint DEFAULT '-1'::bigint NOT NULL,
    n_done bigint DEFAULT '0'::bigint NOT NULL,
    n_samples bigint DEFAULT '0'::bigint NOT NULL,
    n_paid bigint DEFAULT '0'::bigint NOT NULL
);


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_workers_id_seq OWNED BY public.kabc_workers.id;


--
-- Name: kabc_late id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late ALTER COLUMN id SET DEFAULT nextval('public.kabc_late_id_seq'::regclass);


--
-- Name: kabc_notes id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes ALTER COLUMN id SET DEFAULT nextval('public.kabc_notes_id_seq'::regclass);


--
-- Name: kabc_studies id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies ALTER COLUMN id SET DEFAULT nextval('public.kabc_studies_id_seq'::regclass);


--
-- Name: kabc_tickets id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets ALTER COLUMN id SET DEFAULT nextval('public.kabc_tickets_id_seq'::regclass);


--
-- Name: kabc_tokens id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens ALTER COLUMN id SET DEFAULT nextval('public.kabc_tokens_id_seq'::regclass);


--
-- Name: kabc_workers id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers ALTER COLUMN id SET DEFAULT nextval('public.kabc_workers_id_seq'::regclass);


--
-- Data for Name: kabc_draws; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_draws (ticket, worker, rows, started, ended) FROM stdin;
1	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b325d2c227a223a307d003204119004320b7c19991bdec2bfbf	1795137552.7545736	1795137552.754766
2	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b325d2c227a223a307dca6ced275da95386336a1effff133f40	1795137552.7602572	1795137552.760329
3	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b325d2c227a223a307dfc54c1514f717f2cbba4c8d5e5b3bf3f	1795137552.7636013	1795137552.7636535
4	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b325d2c227a223a307d9a48cf5039d01f3f217d49950ed5403f	1795137552.7636821	1795137552.7637172
5	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b325d2c227a223a307dac69187a31e3b827bd75881ff1013f40	1795137552.7637408	1795137552.7637599
6	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d9ef5642365300a40	1795137552.8334737	1795137552.8335977
7	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d702fdafe935a0e40	1795137552.8336308	1795137552.8336549
8	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d8046fd9160cdf13f	1795137552.833679	1795137552.8337078
9	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dadcc2aee85ff0640	1795137552.833727	1795137552.833745
10	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dfe680076f840e6bf	1795137552.8337624	1795137552.8337784
11	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d1edb987fed041740	1795137552.8496416	1795137552.8497202
12	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307da4cc6b1409c9f63f	1795137552.849746	1795137552.8497672
13	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d1e1579c42b0afb3f	1795137552.8497841	1795137552.8498003
14	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d7ec840888e2ff53f	1795137552.8498166	1795137552.8498318
15	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307def2f7d255161fe3f	1795137552.8498476	1795137552.849862
16	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d3b2b774572bad1bf	1795137552.8653998	1795137552.865472
17	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d00f0c614bc7fd6bf	1795137552.8654974	1795137552.8655174
18	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d0ab40c937b2a0540	1795137552.8655345	1795137552.8655508
19	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dd9886b7b1d0ac13f	1795137552.8655667	1795137552.865583
20	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d2156befb55f6ff3f	1795137552.8655977	1795137552.8656118
21	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307df20d8e1316f4f83f	1795137552.8791683	1795137552.8792307
22	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d11f17da74b3df73f	1795137552.8792555	1795137552.8792753
23	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d588a915a37f1d13f	1795137552.8792927	1795137552.8793087
24	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d3d877e580b4d1040	1795137552.879325	1795137552.8793397
25	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dbd43b176fb3d0440	1795137552.879355	1795137552.879369
26	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d5b118ca89b470340	1795137552.8931253	1795137552.8931835
27	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d247989d0bd71f63f	1795137552.8932073	1795137552.8932264
28	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d5f3147ffd05c1540	1795137552.8932438	1795137552.8932605
29	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307ddff8356ae07ef2bf	1795137552.8932757	1795137552.8932908
30	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307df6a1ae43ff2baf3f	1795137552.893305	1795137552.8933191
31	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d259974fe756ec23f	1795137552.9066014	1795137552.9066668
32	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d22e143de930b1240	1795137552.9067266	1795137552.906749
33	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dbbffc5bf9bb00540	1795137552.9067667	1795137552.9067822
34	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307df2df6a11add6ff3f	1795137552.9067988	1795137552.9068146
35	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dbb1f612871080440	1795137552.9068303	1795137552.9068444
36	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d36d74f9e7a57debf	1795137552.9213557	1795137552.9214177
37	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d2b38bbedd099e4bf	1795137552.9214427	1795137552.9214623
38	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dbf46529779470940	1795137552.921479	1795137552.9214942
39	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307de176d4e2d1b81640	1795137552.9215102	1795137552.9215245
40	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d98f8c3b522daf43f	1795137552.9215395	1795137552.9215531
41	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307da4fcd341a31d1340	1795137552.934571	1795137552.93463
42	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307df507dab9d101cbbf	1795137552.9346547	1795137552.934707
43	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d5403cf2155ad0d40	1795137552.9347262	1795137552.9347427
44	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d7e53577c235c0840	1795137552.934758	1795137552.9347727
45	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d925d827fefb7c93f	1795137552.934787	1795137552.934801
46	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307dc9b6841012750140	1795137552.948718	1795137552.9488015
47	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d8ec7cafac8b30940	1795137552.9488285	1795137552.9488478
48	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d4bfbfc381e26dfbf	1795137552.9488647	1795137552.9488807
49	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d64acff35fb1e0e40	1795137552.9488962	1795137552.9489114
50	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d19864bfed7fbd33f	1795137552.9489267	1795137552.9489412
51	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307db22ab00fda610b40	1795137552.965801	1795137552.9659014
52	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d06cea9e54cacfb3f	1795137552.965928	1795137552.9659486
53	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307daf34d2372a90fe3f	1795137552.9659662	1795137552.9659824
54	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d88ca6ce8f104d13f	1795137552.9659986	1795137552.9660146
55	1	\\x4b5231190000007b2274223a223c6638222c2273223a5b315d2c227a223a307d770905d17b7ef43f	1795137552.96603	1795137552.966044
\.


--
-- Data for Name: kabc_late; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_late (id, ticket, lease, worker, rows, started, ended, n_paid) FROM stdin;
\.


--
-- Data for Name: kabc_notes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_notes (id, study, kind, body, written, token) FROM stdin;
\.


--
-- Data for Name: kabc_rounds; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_rounds (study, number, opened) FROM stdin;
1	1	1795137552.742123
1	2	1795137552.826414
1	3	1795137552.843464
1	4	1795137552.859545
1	5	1795137552.873722
1	6	1795137552.887603
1	7	1795137552.901355
1	8	1795137552.916053
1	9	1795137552.929362
1	10	1795137552.942582
1	11	1795137552.960263
1	12	1795137552.974181
\.


--
-- Data for Name: kabc_snapshots; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_snapshots (study, number, content) FROM stdin;
\.


--
-- Data for Name: kabc_studies; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_studies (id, name, spec, state, created, revision, changed, facts, limits, answer, n_rounds, latest, counted, step_worker, step_expires, token) FROM stdin;
1	no K	{"format":"kabc study","version":1,"kabc":"0.2.0.dev0","question":{"strategy":"anytime","seed":4,"n_clusters":null,"delta":0.05,"min_separation":null,"pilot":null,"check_k":null,"block":null,"watch":true,"on_worker_loss":null,"names":["arm 0","arm 1","arm 2","arm 3","arm 4"],"options":{},"kernel":null,"tolerance":null,"types":null,"reuse":null}}	running	1795137552.568086	14	1795137552.974983	{"arms":[{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false}],"notes":[],"columns":[],"price":0.0,"types":{},"source":""}	{"max_samples":900}	\N	12	12	11	vm-14782-522eeec3	1795137612.589883	bb9b41ee2ec86972
\.


--
-- Data for Name: kabc_tickets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_tickets (id, study, round, place, arm, piece, start, count, state, lease, worker, expires, deaths, n_paid, token) FROM stdin;
1	1	1	0	0	0	0	2	2	1	1	0	0	0	\N
2	1	1	1	4	0	0	2	2	1	1	0	0	0	\N
3	1	1	2	3	0	0	2	2	1	1	0	0	0	\N
4	1	1	3	2	0	0	2	2	1	1	0	0	0	\N
5	1	1	4	1	0	0	2	2	1	1	0	0	0	\N
6	1	2	0	4	0	2	1	2	1	1	0	0	0	\N
7	1	2	1	2	0	2	1	2	1	1	0	0	0	\N
8	1	2	2	1	0	2	1	2	1	1	0	0	0	\N
9	1	2	3	0	0	2	1	2	1	1	0	0	0	\N
10	1	2	4	3	0	2	1	2	1	1	0	0	0	\N
11	1	3	0	2	0	3	1	2	1	1	0	0	0	\N
12	1	3	1	0	0	3	1	2	1	1	0	0	0	\N
13	1	3	2	1	0	3	1	2	1	1	0	0	0	\N
14	1	3	3	4	0	3	1	2	1	1	0	0	0	\N
15	1	3	4	3	0	3	1	2	1	1	0	0	0	\N
16	1	4	0	3	0	4	1	2	1	1	0	0	0	\N
17	1	4	1	4	0	4	1	2	1	1	0	0	0	\N
18	1	4	2	2	0	4	1	2	1	1	0	0	0	\N
19	1	4	3	0	0	4	1	2	1	1	0	0	0	\N
20	1	4	4	1	0	4	1	2	1	1	0	0	0	\N
21	1	5	0	4	0	5	1	2	1	1	0	0	0	\N
22	1	5	1	3	0	5	1	2	1	1	0	0	0	\N
23	1	5	2	0	0	5	1	2	1	1	0	0	0	\N
24	1	5	3	2	0	5	1	2	1	1	0	0	0	\N
25	1	5	4	1	0	5	1	2	1	1	0	0	0	\N
26	1	6	0	4	0	6	1	2	1	1	0	0	0	\N
27	1	6	1	1	0	6	1	2	1	1	0	0	0	\N
28	1	6	2	2	0	6	1	2	1	1	0	0	0	\N
29	1	6	3	0	0	6	1	2	1	1	0	0	0	\N
30	1	6	4	3	0	6	1	2	1	1	0	0	0	\N
31	1	7	0	0	0	7	1	2	1	1	0	0	0	\N
32	1	7	1	2	0	7	1	2	1	1	0	0	0	\N
33	1	7	2	1	0	7	1	2	1	1	0	0	0	\N
34	1	7	3	3	0	7	1	2	1	1	0	0	0	\N
35	1	7	4	4	0	7	1	2	1	1	0	0	0	\N
36	1	8	0	0	0	8	1	2	1	1	0	0	0	\N
37	1	8	1	3	0	8	1	2	1	1	0	0	0	\N
38	1	8	2	1	0	8	1	2	1	1	0	0	0	\N
39	1	8	3	2	0	8	1	2	1	1	0	0	0	\N
40	1	8	4	4	0	8	1	2	1	1	0	0	0	\N
41	1	9	0	2	0	9	1	2	1	1	0	0	0	\N
42	1	9	1	3	0	9	1	2	1	1	0	0	0	\N
43	1	9	2	4	0	9	1	2	1	1	0	0	0	\N
44	1	9	3	1	0	9	1	2	1	1	0	0	0	\N
45	1	9	4	0	0	9	1	2	1	1	0	0	0	\N
46	1	10	0	4	0	10	1	2	1	1	0	0	0	\N
47	1	10	1	1	0	10	1	2	1	1	0	0	0	\N
48	1	10	2	3	0	10	1	2	1	1	0	0	0	\N
49	1	10	3	2	0	10	1	2	1	1	0	0	0	\N
50	1	10	4	0	0	10	1	2	1	1	0	0	0	\N
56	1	12	0	0	0	12	1	1	1	1	1795137612.978807	0	0	72b694c9665cc055
57	1	12	1	3	0	12	1	1	1	1	1795137612.978807	0	0	72b694c9665cc055
58	1	12	2	1	0	12	1	1	1	1	1795137612.978807	0	0	72b694c9665cc055
59	1	12	3	4	0	12	1	1	1	1	1795137612.978807	0	0	72b694c9665cc055
60	1	12	4	2	0	12	1	1	1	1	1795137612.978807	0	0	72b694c9665cc055
51	1	11	0	2	0	11	1	2	1	1	0	0	0	\N
52	1	11	1	1	0	11	1	2	1	1	0	0	0	\N
53	1	11	2	0	0	11	1	2	1	1	0	0	0	\N
54	1	11	3	4	0	11	1	2	1	1	0	0	0	\N
55	1	11	4	3	0	11	1	2	1	1	0	0	0	\N
\.


--
-- Data for Name: kabc_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_tokens (id, label, scope, digest, created, expires) FROM stdin;
\.


--
-- Data for Name: kabc_totals; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_totals (study, arm, n_samples, n_paid) FROM stdin;
1	0	12	12
1	1	12	12
1	2	12	12
1	3	12	12
1	4	12	12
\.


--
-- Data for Name: kabc_version; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_version (version_num) FROM stdin;
0003
\.


--
-- Data for Name: kabc_workers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_workers (id, study, name, facts, first_seen, last_seen, changes, changed, round, n_done, n_samples, n_paid) FROM stdin;
1	1	vm-14782-522eeec3	{"role":"run","host":"vm","boot":"8a6a7c0a-1872-41ae-a2b4-abdc1b47f298 pid:[4026531836]","pid":14782,"started":"924267","arms":["arm 0","arm 1","arm 2","arm 3","arm 4"],"kabc":"0.2.0.dev0","python":"3.11.7"}	1795137552.577089	1795137552.979509	26	1795137552.97951	11	5	5	5
\.


--
-- Name: kabc_late_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_late_id_seq', 1, false);


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_notes_id_seq', 1, false);


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_studies_id_seq', 1, true);


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_tickets_id_seq', 60, true);


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_tokens_id_seq', 1, false);


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_workers_id_seq', 1, true);


--
-- Name: kabc_draws kabc_draws_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_draws
    ADD CONSTRAINT kabc_draws_pkey PRIMARY KEY (ticket);


--
-- Name: kabc_late kabc_late_lease; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_lease UNIQUE (ticket, lease);


--
-- Name: kabc_late kabc_late_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_pkey PRIMARY KEY (id);


--
-- Name: kabc_notes kabc_notes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes
    ADD CONSTRAINT kabc_notes_pkey PRIMARY KEY (id);


--
-- Name: kabc_rounds kabc_rounds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_rounds
    ADD CONSTRAINT kabc_rounds_pkey PRIMARY KEY (study, number);


--
-- Name: kabc_snapshots kabc_snapshots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_snapshots
    ADD CONSTRAINT kabc_snapshots_pkey PRIMARY KEY (study);


--
-- Name: kabc_studies kabc_studies_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies
    ADD CONSTRAINT kabc_studies_name_key UNIQUE (name);


--
-- Name: kabc_studies kabc_studies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies
    ADD CONSTRAINT kabc_studies_pkey PRIMARY KEY (id);


--
-- Name: kabc_tickets kabc_tickets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_pkey PRIMARY KEY (id);


--
-- Name: kabc_tickets kabc_tickets_place; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_place UNIQUE (study, round, place);


--
-- Name: kabc_tokens kabc_tokens_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens
    ADD CONSTRAINT kabc_tokens_digest_key UNIQUE (digest);


--
-- Name: kabc_tokens kabc_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens
    ADD CONSTRAINT kabc_tokens_pkey PRIMARY KEY (id);


--
-- Name: kabc_totals kabc_totals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_totals
    ADD CONSTRAINT kabc_totals_pkey PRIMARY KEY (study, arm);


--
-- Name: kabc_version kabc_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_version
    ADD CONSTRAINT kabc_version_pkc PRIMARY KEY (version_num);


--
-- Name: kabc_workers kabc_workers_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_name UNIQUE (study, name);


--
-- Name: kabc_workers kabc_workers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_pkey PRIMARY KEY (id);


--
-- Name: kabc_notes_study; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_notes_study ON public.kabc_notes USING btree (study, id);


--
-- Name: kabc_tickets_apart; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_apart ON public.kabc_tickets USING btree (study, state, round, place) WHERE (state = ANY (ARRAY[(1)::bigint, (3)::bigint]));


--
-- Name: kabc_tickets_deaths; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_deaths ON public.kabc_tickets USING btree (study, arm) WHERE (deaths > 0);


--
-- Name: kabc_tickets_unfinished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_unfinished ON public.kabc_tickets USING btree (study, round, place) WHERE (state < 2);


--
-- Name: kabc_draws kabc_draws_ticket_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_draws
    ADD CONSTRAINT kabc_draws_ticket_fkey FOREIGN KEY (ticket) REFERENCES public.kabc_tickets(id) ON DELETE CASCADE;


--
-- Name: kabc_late kabc_late_ticket_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_ticket_fkey FOREIGN KEY (ticket) REFERENCES public.kabc_tickets(id) ON DELETE CASCADE;


--
-- Name: kabc_notes kabc_notes_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes
    ADD CONSTRAINT kabc_notes_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_rounds kabc_rounds_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_rounds
    ADD CONSTRAINT kabc_rounds_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_snapshots kabc_snapshots_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_snapshots
    ADD CONSTRAINT kabc_snapshots_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_tickets kabc_tickets_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_totals kabc_totals_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_totals
    ADD CONSTRAINT kabc_totals_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_workers kabc_workers_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict oH2o3qBKJdVGWTykGK9vd64XqLh7QqycG47AOIG37bbq0dnUCQnsHfXepzKnsVe

